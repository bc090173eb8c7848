import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";

/** Names of the events that the service announces. */
export const EVENT_TYPES = [
  "escrow.funded",
  "service.delivered",
  "escrow.released",
  "escrow.finalized",
  "delivery.submitted",
  "delivery.overdue",
  "escrow.refunded",
  "escrow.abandoned",
  "dispute.created",
  "dispute.resolved",
  "escrow.reorged",
  "message.received",
  "webhook.disabled",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** An event in one agent's log. It never changes. An event for two agents is two records. */
export interface EventRecord {
  /** `<event id>:<agent id>` */
  _id: string;
  /** `evt_…`, deterministic: the same move gives the same id every time it is found. */
  eventId: string;
  /** The agent whose log has the event. */
  agentId: string;
  /** Position in the agent's log: 1, 2, 3 and so on, in commit order. */
  seq: number;
  type: EventType;
  /** Null for an event that belongs to no transaction. */
  transactionId: string | null;
  /** Null for an event that isn't about an escrow. */
  network: Network | null;
  escrowId: `0x${string}` | null;
  /** The exact body that is sent. */
  bodyJson: string;
  /** When it happened: the time of the block or of the API call. */
  occurredAt: Date;
  createdAt: Date;
}

/** The length of an agent's log. */
export interface LogLengthRecord {
  /** Agent id. */
  _id: string;
  length: number;
}

export type EventModel = Model<EventRecord>;
export type LogLengthModel = Model<LogLengthRecord>;

/** The collections of the event log. */
export interface EventModels {
  events: EventModel;
  lengths: LogLengthModel;
}

const required = { required: true } as const;
const text = { type: String, ...required };
const count = { type: Number, ...required };
const date = { type: Date, ...required };
const optionalText = { type: String, default: null } as const;

const eventSchema = new Schema<EventRecord>(
  {
    _id: text,
    eventId: text,
    agentId: text,
    seq: count,
    type: { ...text, enum: EVENT_TYPES },
    transactionId: optionalText,
    network: { ...optionalText, enum: [...NETWORKS, null] },
    escrowId: optionalText,
    bodyJson: text,
    occurredAt: date,
    createdAt: date,
  },
  { collection: "agent_events", versionKey: false, strict: "throw" },
);
eventSchema.index({ agentId: 1, seq: 1 }, { unique: true });
eventSchema.index({ agentId: 1, transactionId: 1, seq: 1 });
eventSchema.index({ agentId: 1, type: 1, seq: 1 });

const lengthSchema = new Schema<LogLengthRecord>(
  { _id: text, length: count },
  { collection: "agent_event_lengths", versionKey: false, strict: "throw" },
);

/** The collections of the event log. */
export function eventModels(connection: Connection): EventModels {
  return {
    events: connection.model<EventRecord>("Event", eventSchema),
    lengths: connection.model<LogLengthRecord>("EventLogLength", lengthSchema),
  };
}
