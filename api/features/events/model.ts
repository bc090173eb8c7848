import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";

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

/** A named counter. */
export interface CounterRecord {
  _id: string;
  value: number;
}

export type EventModel = Model<EventRecord>;
export type CounterModel = Model<CounterRecord>;

/** The collections of the event log. */
export interface EventModels {
  events: EventModel;
  counters: CounterModel;
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

const counterSchema = new Schema<CounterRecord>(
  { _id: text, value: count },
  { collection: "counters", versionKey: false, strict: "throw" },
);

/** The collections of the event log. */
export function eventModels(connection: Connection): EventModels {
  return {
    events: connection.model<EventRecord>("Event", eventSchema),
    counters: connection.model<CounterRecord>("Counter", counterSchema),
  };
}
