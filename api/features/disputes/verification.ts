import { parseEventLogs } from "viem";

import { resolverAbi } from "../../chain/abis.ts";
import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import { disputeCase } from "./case-of.ts";
import type { DisputeCase } from "./judging/case.ts";
import { ruleByFacts } from "./judging/facts-ruling.ts";
import { inputHashOf, seenCase } from "./judging/seen-case.ts";
import type { DisputeModel, DisputeRecord, Ruling } from "./model.ts";
import { rationaleHashOf, submittedEvidence } from "./ruling-document.ts";
import type { RulingDocument } from "./ruling-document.ts";

/** One part of a verification. */
export interface Finding {
  part: string;
  /** Null for what can't be verified yet. */
  holds: boolean | null;
  detail: string;
}

/** What a verification reads. */
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

const hashOf = (value: unknown): string => sha256Hex(canonicalJson(value));

/**
 * Recomputes what a ruling rests on: its hash from the document, the hash on chain from the resolver contract's event,
 * facts, checks and evidence from the records, and the outcome where the facts alone decided.
 * @throws NothingToVerifyError
 * @throws ChainUnavailableError, EvaluatorUnavailableError
 */
export async function verifyRuling(disputeId: string, options: VerificationOptions): Promise<Finding[]> {
  const { disputes, transactions, evaluator } = options;
  const dispute = await disputes.findById(disputeId).lean<DisputeRecord | null>();
  if (dispute === null) throw new NothingToVerifyError(`There is no dispute ${disputeId}.`);
  if (dispute.ruling === null) throw new NothingToVerifyError(`Dispute ${disputeId} hasn't been ruled.`);
  const record = await transactions.findById(dispute.transactionId).lean<TransactionRecord | null>();
  if (record === null) throw new NothingToVerifyError(`Transaction ${dispute.transactionId} doesn't exist.`);
  const document = JSON.parse(dispute.ruling.documentJson) as RulingDocument;
  const found = await disputeCase({ dispute, record }, evaluator, document.factsAt);
  return [
    ofHash(dispute.ruling, document),
    await ofChain(dispute.ruling, record, options),
    compared("facts", document.facts, found.facts),
    compared("checks", document.checks, found.checks),
    compared("handover", document.handover, found.handover),
    compared("evidence", document.evidence, submittedEvidence(dispute)),
    compared("reason", document.reasonSha256, dispute.reason === null ? null : sha256Hex(dispute.reason.text)),
    ...ofJudgement(document, found),
  ];
}

function compared(part: string, written: unknown, recomputed: unknown): Finding {
  const holds = hashOf(written) === hashOf(recomputed);
  const detail = holds ? "recomputed, the same" : `recomputed: ${canonicalJson(recomputed)}`;
  return { part, holds, detail };
}

function ofHash({ documentJson, rationaleHash }: Ruling, document: RulingDocument): Finding {
  const hash = rationaleHashOf(documentJson);
  const isCanonical = canonicalJson(document) === documentJson;
  return { part: "hash", holds: isCanonical && hash === rationaleHash, detail: hash };
}

/** The hash in the resolver contract's event, in the receipt of the resolution. */
async function ofChain(
  { rationaleHash }: Ruling,
  record: TransactionRecord,
  { chains }: VerificationOptions,
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
  return { part, holds: onChain === rationaleHash, detail: `${onChain} in ${move.txHash}` };
}

/** What the judge saw, and the outcome if the facts alone decided. An opinion of a judge can't be recomputed. */
function ofJudgement({ inputHash, judge, outcome }: RulingDocument, found: DisputeCase): Finding[] {
  if (inputHash === null) return [{ part: "outcome", holds: null, detail: "an admin's decision" }];
  const seen = seenCase(found);
  const recomputed = inputHashOf(seen);
  const input = { part: "input of the judge", holds: recomputed === inputHash, detail: recomputed };
  if (judge !== "facts")
    return [input, { part: "outcome", holds: null, detail: `${outcome}: the opinion of the judge` }];
  const byFacts = ruleByFacts(seen).outcome;
  return [input, { part: "outcome", holds: byFacts === outcome, detail: `${byFacts ?? "none"} by the facts` }];
}
