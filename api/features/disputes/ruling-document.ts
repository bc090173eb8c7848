import { keccak256, stringToBytes } from "viem";

import { canonicalJson } from "../../lib/canonical-json.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { DisputeOutcome, ResolvedBy } from "../../indexer/schemas.ts";
import type { CheckVerdict } from "../criteria/evaluator.ts";
import type { Fact } from "../criteria/facts.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import type { DisputeCase, Handover, Judgement, ModelUse, Side } from "./judging/case.ts";
import type { DisputeRecord } from "./model.ts";

/** Version of the document's form. */
const VERSION = 2;

/**
 * A ruling with all that it rests on. Both parties can read it, and its hash goes on chain, so nobody can change it
 * afterwards. Texts of the parties are in it as SHA-256 hashes; the dispute and the transaction have them in full.
 */
export interface RulingDocument {
  version: number;
  disputeId: string;
  transactionId: string;
  network: string;
  chainId: number;
  escrowContract: string;
  escrowId: string;
  buyer: string;
  seller: string;
  criteriaHash: string;
  proofHash: string | null;
  deliveryProof: string | null;
  /** Unix seconds. */
  disputedAt: number;
  /** The chain's time when the facts were established, in unix seconds. */
  factsAt: number;
  handover: Handover;
  facts: readonly Fact[];
  checks: readonly CheckVerdict[];
  reasonSha256: string | null;
  evidence: { evidenceId: string; submittedBy: Side; type: string; sha256: string }[];
  ruledBy: ResolvedBy;
  outcome: DisputeOutcome;
  buyerPercent: number;
  sellerPercent: number;
  /** Who decided; null for an admin's ruling. */
  judge: Judgement["judge"] | null;
  reasons: string[];
  model: ModelUse | null;
  inputHash: string | null;
  removed: string[];
  /** ISO 8601, by the chain's time. */
  ruledAt: string;
}

/** A ruling: by the system with its judgement, or by an admin. */
export type Decision =
  | { ruledBy: "system"; judgement: Judgement }
  | {
      ruledBy: "admin";
      outcome: DisputeOutcome;
      buyerPercent: number;
      rationale: string;
      /** Undefined for a request without an id by which a repeat could be recognised. */
      operationId: string | undefined;
    };

/** The buyer's share by outcome where the system rules. */
export const SYSTEM_PERCENT: Readonly<Record<DisputeOutcome, number>> = { BuyerRefund: 100, SellerPaid: 0, Split: 50 };
export const ALL_PERCENT = 100;
const SIDES = ["buyer", "seller"] as const;

/** A dispute with what a ruling rests on. */
export interface RulingSubject {
  dispute: DisputeRecord;
  record: TransactionRecord;
  disputeCase: DisputeCase;
  /** The chain's time when the facts were established, in unix seconds. */
  factsAt: number;
}

/** The document of a ruling. */
export function rulingDocument(
  { dispute, record, disputeCase, factsAt }: RulingSubject,
  decision: Decision,
  ruledAt: Date,
): RulingDocument {
  const ruled =
    decision.ruledBy === "admin"
      ? { ...decision, judge: null, reasons: [decision.rationale], model: null, inputHash: null, removed: [] }
      : { ...decision.judgement, buyerPercent: SYSTEM_PERCENT[decision.judgement.outcome] };
  return {
    version: VERSION,
    disputeId: dispute._id,
    transactionId: record._id,
    network: record.network,
    chainId: record.chainId,
    escrowContract: record.escrowContract,
    escrowId: record.escrowId,
    buyer: record.buyerAddress,
    seller: record.sellerAddress,
    criteriaHash: record.criteriaHash,
    proofHash: record.escrow?.proofHash ?? null,
    deliveryProof: record.deliveryProof,
    disputedAt: record.escrow?.disputedAt ?? 0,
    factsAt,
    handover: disputeCase.handover,
    facts: disputeCase.facts,
    checks: disputeCase.checks,
    reasonSha256: dispute.reason === null ? null : sha256Hex(dispute.reason.text),
    evidence: hashEvidence(dispute),
    ruledBy: decision.ruledBy,
    outcome: ruled.outcome,
    buyerPercent: ruled.buyerPercent,
    sellerPercent: ALL_PERCENT - ruled.buyerPercent,
    judge: ruled.judge,
    reasons: ruled.reasons,
    model: ruled.model,
    inputHash: ruled.inputHash,
    removed: ruled.removed,
    ruledAt: ruledAt.toISOString(),
  };
}

/** The evidence of both parties, each item with the SHA-256 of its canonical JSON. */
export function hashEvidence({ evidence }: DisputeRecord): RulingDocument["evidence"] {
  return SIDES.flatMap((submittedBy) =>
    evidence[submittedBy].map(({ evidenceId, type, description, attachments }) => {
      const sha256 = sha256Hex(canonicalJson({ type, description, attachments }));
      return { evidenceId, submittedBy, type, sha256 };
    }),
  );
}

/** The hash of a document's canonical JSON, which goes on chain. */
export function hashRationale(documentJson: string): `0x${string}` {
  return keccak256(stringToBytes(documentJson));
}

/** Why a ruling was made, as one text. */
export function rationaleOf({ reasons }: Pick<RulingDocument, "reasons">): string {
  return reasons.join("\n");
}
