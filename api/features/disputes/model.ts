import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import { collection, date, flag, listOf, nullable, number, oneOf, optional, part, text } from "../../db/records.ts";
import { textOf, withDefault } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { DISPUTE_OUTCOMES } from "../../indexer/schemas.ts";
import type { ResolvedBy } from "../../indexer/schemas.ts";
import type { EvidenceType } from "./judging/case.ts";

/** One item of evidence. */
const evidenceFields = {
  /** `evi_…` */
  evidenceId: text,
  type: textOf<EvidenceType>(),
  description: text,
  attachments: listOf(text),
  submittedAt: date,
};
export type EvidenceItem = RecordOf<typeof evidenceFields>;

/** A division of the escrow that a party has signed. */
const offerFields = {
  buyerPercent: number,
  /** Last second at which the chain accepts it, in unix seconds. */
  deadline: number,
  signature: textOf<`0x${string}`>(),
  offeredAt: date,
};
export type SettlementOffer = RecordOf<typeof offerFields>;

/** A ruling. Only an admin may replace it, and only while it can't be mined. */
const rulingFields = {
  ruledBy: textOf<ResolvedBy>(),
  outcome: oneOf(DISPUTE_OUTCOMES),
  buyerPercent: number,
  /** RFC 8785 canonical JSON of the ruling document. */
  documentJson: text,
  /** keccak256 of `documentJson`, which goes on chain. */
  rationaleHash: textOf<`0x${string}`>(),
  /** By the chain's time. */
  ruledAt: date,
  /** Id that the `Idempotency-Key` of an admin's request gives it: the same for all its repeats. */
  operationId: optional(text),
};
export type Ruling = RecordOf<typeof rulingFields>;

/**
 * A dispute's data beyond its escrow: the parties' submissions, and the ruling. The follower creates it with the
 * dispute's event, and keeps `disputedAt` and `isOpen` as they are on chain.
 */
const disputeFields = {
  /** `dsp_…` (transactions/dispute-id.ts) */
  _id: text,
  transactionId: text,
  network: oneOf(NETWORKS),
  escrowId: textOf<`0x${string}`>(),
  /** Unix seconds; null after a reorganisation has removed the dispute. */
  disputedAt: nullable(number),
  /** Whether the escrow is Disputed on chain. */
  isOpen: flag,
  /** End of the evidence period, by the chain's time. */
  evidenceEndsAt: date,
  reason: nullable(part({ text, givenAt: date })),
  evidence: part({ buyer: listOf(part(evidenceFields)), seller: listOf(part(evidenceFields)) }),
  /** When a party has marked its evidence complete, by the chain's time. */
  complete: part({ buyer: nullable(date), seller: nullable(date) }),
  /** JSON text of the criteria document that a party has supplied for an escrow without a checkout. */
  criteriaJson: nullable(text),
  offers: part({ buyer: nullable(part(offerFields)), seller: nullable(part(offerFields)) }),
  /** When the evidence was closed, by the chain's time, because the ruling has begun. */
  closedAt: nullable(date),
  ruling: nullable(part(rulingFields)),
  /** When the ruling is due, by the chain's time; also the end of a judge's lease. Null while there is nothing to do. */
  dueAt: nullable(date),
  /** Failed attempts to rule, and the error of the last one. */
  attempts: withDefault(number, 0),
  lastError: nullable(text),
  createdAt: date,
  updatedAt: date,
};
export type DisputeRecord = RecordOf<typeof disputeFields>;
export type DisputeModel = Model<DisputeRecord>;

/** The collection of disputes. */
export function disputeModel(connection: Connection): DisputeModel {
  // The first serves a worker's search for due disputes, the second the count of overdue ones for /ready.
  return collection(connection, "Dispute", "disputes", disputeFields, [
    [{ network: 1, dueAt: 1 }, { partialFilterExpression: { dueAt: { $type: "date" } } }],
    [{ network: 1, evidenceEndsAt: 1 }, { partialFilterExpression: { isOpen: true } }],
  ]);
}
