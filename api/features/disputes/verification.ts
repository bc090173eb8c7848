import { parseEventLogs } from "viem";

import { resolverAbi } from "../../chain/abis.ts";
import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import { DISPUTE_OUTCOMES } from "../../indexer/schemas.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import { loadCase } from "./load-case.ts";
import type { DisputeCase } from "./judging/case.ts";
import { ruleByFacts } from "./judging/facts-ruling.ts";
import { hashInput, sanitisedCase } from "./judging/sanitised-case.ts";
import type { DisputeModel, DisputeRecord, Ruling } from "./model.ts";
import { ALL_PERCENT, hashRationale, hashEvidence, SYSTEM_PERCENT } from "./ruling-document.ts";
import type { RulingDocument } from "./ruling-document.ts";

/** One part of a verification. */
export interface Finding {
  part: string;
  /** Null for what can't be verified yet. */
  holds: boolean | null;
  detail: string;
}

/** Dependencies of a verification. */
export interface VerificationOptions {
  disputes: DisputeModel;
  transactions: TransactionModel;
  evaluator: CriteriaEvaluator;
  chains: Readonly<Record<Network, Pick<ChainClient, "deployment" | "lookupReceipt">>>;
}

/** Thrown for a dispute that has no ruling to verify. */
export class NothingToVerifyError extends Error {
  override readonly name = "NothingToVerifyError";
}

const hashCanonical = (value: unknown): string => sha256Hex(canonicalJson(value));

/**
 * Recomputes the basis of a ruling. The document gives its hash, and the resolver contract's event the hash on chain. The
 * records give facts, checks and evidence, and the outcome where the facts alone decided.
 * @throws NothingToVerifyError
 * @throws ChainUnavailableError, EvaluatorUnavailableError
 */
export async function verifyRuling(disputeId: string, options: VerificationOptions): Promise<Finding[]> {
  const { disputes, transactions, evaluator } = options;
  const dispute = await disputes.findById(disputeId).lean();
  if (dispute === null) throw new NothingToVerifyError(`Dispute ${disputeId} doesn't exist.`);
  if (dispute.ruling === null) throw new NothingToVerifyError(`Dispute ${disputeId} hasn't been ruled.`);
  const record = await transactions.findById(dispute.transactionId).lean();
  if (record === null) throw new NothingToVerifyError(`Transaction ${dispute.transactionId} doesn't exist.`);
  const document = JSON.parse(dispute.ruling.documentJson) as RulingDocument;
  const found = await loadCase(asRuled(dispute, record, document), evaluator, document.factsAt);
  return [
    checkHash(dispute.ruling, document),
    compared("escrow", subjectOf(document), subjectOf(subjectIn(dispute, record, document))),
    await checkChain(dispute.ruling, record, { ...options, document }),
    compared("facts", document.facts, found.facts),
    compared("checks", document.checks, found.checks),
    compared("handover", document.handover, found.handover),
    compared("payload", document.deliveryProof, found.payload === null ? null : `0x${hashCanonical(found.payload)}`),
    compared("evidence", document.evidence, hashEvidence(dispute)),
    compared("reason", document.reasonSha256, dispute.reason === null ? null : sha256Hex(dispute.reason.text)),
    ...ofJudgement(document, found),
  ];
}

/**
 * The records as of the ruling. A payload that came later doesn't count, and neither does a dispute that was opened again. A
 * payload of the second in which judging began may have come before it or after it, so there the document says which.
 */
function asRuled(
  dispute: DisputeRecord,
  record: TransactionRecord,
  { disputedAt, factsAt, ...document }: RulingDocument,
) {
  const { payloadReceivedAt } = record;
  const isLater =
    payloadReceivedAt !== null &&
    (payloadReceivedAt.getTime() > Date.parse(document.ruledAt) ||
      (document.handover === "none" && toUnixSeconds(payloadReceivedAt) >= factsAt));
  const without = { responsePayloadJson: null, payloadReceivedAt: null, deliveryProof: null };
  return { dispute: { ...dispute, disputedAt }, record: isLater ? { ...record, ...without } : record };
}

/** Fields of a document that identify its dispute and its ruling. */
const SUBJECT = [
  ...(["disputeId", "transactionId", "network", "chainId", "escrowContract", "escrowId", "buyer", "seller"] as const),
  ...(["criteriaHash", "proofHash", "ruledBy", "disputedAt", "outcome", "buyerPercent", "sellerPercent"] as const),
];
type Subject = Pick<RulingDocument, (typeof SUBJECT)[number]>;

const subjectOf = (said: Subject): Record<string, unknown> =>
  Object.fromEntries(SUBJECT.map((name) => [name, said[name]]));

/** The same fields from the records. The system's percentages follow from its outcome. */
function subjectIn(dispute: DisputeRecord, record: TransactionRecord, document: RulingDocument): Subject {
  const { ruledBy, outcome } = dispute.ruling ?? document;
  const buyerPercent = ruledBy === "system" ? SYSTEM_PERCENT[outcome] : (dispute.ruling ?? document).buyerPercent;
  return {
    disputeId: dispute._id,
    transactionId: record._id,
    network: record.network,
    chainId: record.chainId,
    escrowContract: record.escrowContract,
    escrowId: record.escrowId,
    criteriaHash: record.criteriaHash,
    buyer: record.buyerAddress,
    seller: record.sellerAddress,
    proofHash: record.escrow?.proofHash ?? null,
    disputedAt: record.escrow?.disputedAt ?? 0,
    ruledBy,
    outcome,
    buyerPercent,
    sellerPercent: ALL_PERCENT - buyerPercent,
  };
}

function compared(part: string, written: unknown, recomputed: unknown): Finding {
  const holds = hashCanonical(written) === hashCanonical(recomputed);
  const detail = holds ? "recomputed, the same" : `recomputed: ${canonicalJson(recomputed)}`;
  return { part, holds, detail };
}

function checkHash({ documentJson, rationaleHash }: Ruling, document: RulingDocument): Finding {
  const hash = hashRationale(documentJson);
  const isCanonical = canonicalJson(document) === documentJson;
  return { part: "hash", holds: isCanonical && hash === rationaleHash, detail: hash };
}

/** Hash, outcome and percentage in the resolver contract's event, in the receipt of the resolution. */
async function checkChain(
  { rationaleHash }: Ruling,
  record: TransactionRecord,
  { chains, document }: VerificationOptions & { document: RulingDocument },
): Promise<Finding> {
  const part = "hash on chain";
  const move = record.escrow?.moves.find(({ type }) => type === "EscrowResolved");
  if (move === undefined) return { part, holds: null, detail: "the dispute isn't resolved on chain yet" };
  const { deployment, lookupReceipt } = chains[record.network];
  const lookup = await lookupReceipt(move.txHash);
  if (lookup.status !== "mined") return { part, holds: false, detail: `transaction ${move.txHash} isn't mined` };
  const logs = lookup.receipt.logs.filter(({ address }) => address.toLowerCase() === deployment.resolver.toLowerCase());
  const resolved = parseEventLogs({ abi: resolverAbi, eventName: "DisputeResolved", logs }).find(
    ({ args }) => args.escrowId.toLowerCase() === record.escrowId.toLowerCase(),
  );
  const onChain = resolved?.args.rationaleHash;
  if (onChain === undefined || BigInt(onChain) === 0n) {
    return { part, holds: null, detail: `resolved without a ruling in ${move.txHash}` };
  }
  const outcome = DISPUTE_OUTCOMES[Number(resolved?.args.outcome)];
  const isExecuted = outcome === document.outcome && Number(resolved?.args.buyerPercent) === document.buyerPercent;
  const detail = `${onChain}, ${outcome ?? "unknown"} in ${move.txHash}`;
  return { part, holds: onChain === rationaleHash && isExecuted, detail };
}

/** Checks the input of the judge, and the outcome if the facts alone decided. An opinion of a judge can't be recomputed. */
function ofJudgement({ ruledBy, inputHash, judge, outcome }: RulingDocument, found: DisputeCase): Finding[] {
  if (ruledBy === "admin") return [{ part: "outcome", holds: null, detail: "an admin's decision" }];
  const seen = sanitisedCase(found);
  const recomputed = hashInput(seen);
  const input = { part: "input of the judge", holds: recomputed === inputHash, detail: recomputed };
  const facts = ruleByFacts(seen);
  const byFacts = facts.outcome;
  // Where the facts decide, a judge's opinion counts only if it finds the payload unrelated to the request.
  const isOpen = facts.outcome === null || facts.unlessUnrelated !== undefined;
  if (judge !== "facts" && isOpen)
    return [input, { part: "outcome", holds: null, detail: `${outcome}: the opinion of the judge` }];
  return [input, { part: "outcome", holds: byFacts === outcome, detail: `${byFacts ?? "none"} by the facts` }];
}
