import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { DISPUTE_OUTCOMES } from "../../indexer/schemas.ts";
import type { DisputeOutcome, ResolvedBy } from "../../indexer/schemas.ts";
import type { EvidenceType, Side } from "./judging/case.ts";

/** One item of evidence. */
export interface EvidenceItem {
  /** `evi_…` */
  evidenceId: string;
  type: EvidenceType;
  description: string;
  attachments: string[];
  submittedAt: Date;
}

/** A division of the escrow that a party has signed. */
export interface SettlementOffer {
  buyerPercent: number;
  /** Last second at which the chain accepts it, in unix seconds. */
  deadline: number;
  signature: `0x${string}`;
  offeredAt: Date;
}

/** A ruling. Once it is stored, it never changes. */
export interface Ruling {
  ruledBy: ResolvedBy;
  outcome: DisputeOutcome;
  buyerPercent: number;
  /** RFC 8785 canonical JSON of the ruling document. */
  documentJson: string;
  /** keccak256 of `documentJson`, which goes on chain. */
  rationaleHash: `0x${string}`;
  /** By the chain's time. */
  ruledAt: Date;
  /** Id that the `Idempotency-Key` of an admin's request gives it: the same for all its repeats. */
  operationId?: string;
}

/** One value for each party, by its side. */
export type BySide<T> = Record<Side, T>;

/**
 * A dispute's data beyond its escrow: the parties' submissions, and the ruling. The follower creates it with the
 * dispute's event, and keeps `disputedAt` and `isOpen` as they are on chain.
 */
export interface DisputeRecord {
  /** `dsp_…` (transactions/dispute-id.ts) */
  _id: string;
  transactionId: string;
  network: Network;
  escrowId: `0x${string}`;
  /** Unix seconds; null after a reorganisation has removed the dispute. */
  disputedAt: number | null;
  /** Whether the escrow is Disputed on chain. */
  isOpen: boolean;
  /** End of the evidence period, by the chain's time. */
  evidenceEndsAt: Date;
  reason: { text: string; givenAt: Date } | null;
  evidence: BySide<EvidenceItem[]>;
  /** When a party has marked its evidence complete, by the chain's time. */
  complete: BySide<Date | null>;
  /** JSON text of the criteria document that a party has supplied for an escrow without a checkout. */
  criteriaJson: string | null;
  offers: BySide<SettlementOffer | null>;
  /** When the evidence was closed, by the chain's time, because the ruling has begun. */
  closedAt: Date | null;
  ruling: Ruling | null;
  /** When the ruling is due, by the chain's time; also the end of a judge's lease. Null while there is nothing to do. */
  dueAt: Date | null;
  /** Failed attempts to rule, and the error of the last one. */
  attempts: number;
  lastError: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export type DisputeModel = Model<DisputeRecord>;

const required = { required: true } as const;
const text = { type: String, ...required } as const;
const textOrNull = { type: String, default: null } as const;
const dateOrNull = { type: Date, default: null } as const;
const date = { type: Date, ...required } as const;

const evidenceItem = new Schema<EvidenceItem>(
  { evidenceId: text, type: text, description: text, attachments: [text], submittedAt: date },
  { _id: false },
);
const offer = new Schema<SettlementOffer>(
  {
    buyerPercent: { type: Number, ...required },
    deadline: { type: Number, ...required },
    signature: text,
    offeredAt: date,
  },
  { _id: false },
);
const ruling = new Schema<Ruling>(
  {
    ruledBy: text,
    outcome: { ...text, enum: DISPUTE_OUTCOMES },
    buyerPercent: { type: Number, ...required },
    documentJson: text,
    rationaleHash: text,
    ruledAt: date,
    operationId: String,
  },
  { _id: false },
);
const bySide = (type: object) => ({ type: new Schema({ buyer: type, seller: type }, { _id: false }), ...required });

const schema = new Schema<DisputeRecord>(
  {
    _id: text,
    transactionId: text,
    network: { ...text, enum: NETWORKS },
    escrowId: text,
    disputedAt: { type: Number, default: null },
    isOpen: { type: Boolean, ...required },
    evidenceEndsAt: date,
    reason: { type: new Schema({ text, givenAt: date }, { _id: false }), default: null },
    evidence: bySide([evidenceItem]),
    complete: bySide(dateOrNull),
    criteriaJson: textOrNull,
    offers: bySide({ type: offer, default: null }),
    closedAt: dateOrNull,
    ruling: { type: ruling, default: null },
    dueAt: dateOrNull,
    attempts: { type: Number, default: 0 },
    lastError: textOrNull,
    createdAt: date,
    updatedAt: date,
  },
  { collection: "disputes", versionKey: false, strict: "throw" },
);
// The first serves a worker's search for due disputes, the second the count of overdue ones for /ready.
schema.index({ network: 1, dueAt: 1 }, { partialFilterExpression: { dueAt: { $type: "date" } } });
schema.index({ network: 1, evidenceEndsAt: 1 }, { partialFilterExpression: { isOpen: true } });

/** The collection of disputes. */
export function disputeModel(connection: Connection): DisputeModel {
  return connection.model<DisputeRecord>("Dispute", schema);
}
