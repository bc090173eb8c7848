import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { EscrowEventType } from "../../indexer/schemas.ts";

/** Names of the events that the service announces (specification 6, decision 37). */
export const EVENT_TYPES = [
  "escrow.funded",
  "service.delivered",
  "escrow.released",
  "escrow.finalized",
  "delivery.submitted",
  "escrow.refunded",
  "escrow.abandoned",
  "escrow.reorged",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Something that was announced to agents. Never changed. */
export interface EventRecord {
  /** `evt_…`, deterministic: the same happening has the same id however often it is found (decision 37). */
  _id: string;
  /** Position in the log of all events, in the order in which they were written. */
  seq: number;
  type: EventType;
  transactionId: string;
  network: Network;
  escrowId: `0x${string}`;
  /** Agents in whose log the event stands. */
  recipients: string[];
  /** The body as it is sent, character by character. */
  bodyJson: string;
  /** When it happened: time of the block, or of the call. */
  occurredAt: Date;
  createdAt: Date;
}

/** A chain event that was applied to a transaction: what an overlap of the next reading is compared with. */
export interface AppliedEventRecord {
  /** `<network>:<escrow id>:<type>`; an escrow makes each move at most once. */
  _id: string;
  network: Network;
  escrowId: `0x${string}`;
  type: EscrowEventType;
  transactionId: string;
  /** How often the move was withdrawn by a reorganisation after it had been announced. */
  incarnation: number;
  /** True for a move of an escrow that took the id of a checkout and concerns no agent: nobody was told of it. */
  silent: boolean;
  /** False while the move is withdrawn. */
  live: boolean;
  blockNumber: number;
  blockHash: `0x${string}`;
  txHash: `0x${string}`;
  /** Unix seconds of the block. */
  timestamp: number;
}

/** How far the follower of a network is. */
export interface CursorRecord {
  _id: Network;
  /** Ordinal after the last applied event, as decimal string. */
  nextOrdinal: string;
  /** Highest block up to which everything was read. */
  headNumber: number;
  /** Rises with every write: a follower that has lost its place cannot write over another's. */
  version: number;
  updatedAt: Date;
}

/** A named counter. */
export interface CounterRecord {
  _id: string;
  value: number;
}

/** A right that one process has at a time. */
export interface LeaseRecord {
  _id: string;
  owner: string;
  expiresAt: Date;
}

export type EventModel = Model<EventRecord>;
export type AppliedEventModel = Model<AppliedEventRecord>;
export type CursorModel = Model<CursorRecord>;
export type CounterModel = Model<CounterRecord>;
export type LeaseModel = Model<LeaseRecord>;

/** The collections of the event log and the follower. */
export interface EventModels {
  events: EventModel;
  applied: AppliedEventModel;
  cursors: CursorModel;
  counters: CounterModel;
  leases: LeaseModel;
}

const required = { required: true } as const;
const text = { type: String, ...required };
const count = { type: Number, ...required };
const date = { type: Date, ...required };
const network = { ...text, enum: NETWORKS };

const eventSchema = new Schema<EventRecord>(
  {
    _id: text,
    seq: count,
    type: { ...text, enum: EVENT_TYPES },
    transactionId: text,
    network,
    escrowId: text,
    recipients: { type: [String], ...required },
    bodyJson: text,
    occurredAt: date,
    createdAt: date,
  },
  { collection: "events", versionKey: false, strict: "throw" },
);
eventSchema.index({ seq: 1 }, { unique: true });
eventSchema.index({ recipients: 1, seq: 1 });
eventSchema.index({ recipients: 1, transactionId: 1, seq: 1 });
eventSchema.index({ recipients: 1, type: 1, seq: 1 });

const appliedSchema = new Schema<AppliedEventRecord>(
  {
    _id: text,
    network,
    escrowId: text,
    type: { type: String, ...required },
    transactionId: text,
    incarnation: count,
    silent: { type: Boolean, default: false },
    live: { type: Boolean, ...required },
    blockNumber: count,
    blockHash: text,
    txHash: text,
    timestamp: count,
  },
  { collection: "applied_events", versionKey: false, strict: "throw" },
);
appliedSchema.index({ network: 1, live: 1, blockNumber: 1 });

const cursorSchema = new Schema<CursorRecord>(
  { _id: network, nextOrdinal: text, headNumber: count, version: count, updatedAt: date },
  { collection: "cursors", versionKey: false, strict: "throw" },
);
const counterSchema = new Schema<CounterRecord>(
  { _id: text, value: count },
  { collection: "counters", versionKey: false, strict: "throw" },
);
const leaseSchema = new Schema<LeaseRecord>(
  { _id: text, owner: text, expiresAt: date },
  { collection: "leases", versionKey: false, strict: "throw" },
);

/** The collections of the event log and the follower. */
export function eventModels(connection: Connection): EventModels {
  return {
    events: connection.model<EventRecord>("Event", eventSchema),
    applied: connection.model<AppliedEventRecord>("AppliedEvent", appliedSchema),
    cursors: connection.model<CursorRecord>("Cursor", cursorSchema),
    counters: connection.model<CounterRecord>("Counter", counterSchema),
    leases: connection.model<LeaseRecord>("Lease", leaseSchema),
  };
}
