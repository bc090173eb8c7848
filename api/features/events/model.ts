import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import { lengthModel } from "../../db/lengths.ts";
import type { LengthModel } from "../../db/lengths.ts";
import { collection, date, nullable, number, oneOf, text, textOf } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

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
  "approval.requested",
  "approval.granted",
  "approval.declined",
  "listing.hidden",
  "listing.restored",
  "agent.suspended",
  "agent.restored",
  "appeal.answered",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** An event in one agent's log. It never changes. An event for two agents is two records. */
const eventFields = {
  /** `<event id>:<agent id>` */
  _id: text,
  /** `evt_…`, deterministic: the same move gives the same id every time it is found. */
  eventId: text,
  /** The agent whose log has the event. */
  agentId: text,
  /** Position in the agent's log: 1, 2, 3 and so on, in commit order. */
  seq: number,
  type: oneOf(EVENT_TYPES),
  /** Null for an event that belongs to no transaction. */
  transactionId: nullable(text),
  /** Null for an event that isn't about an escrow. */
  network: nullable(oneOf(NETWORKS)),
  escrowId: nullable(textOf<`0x${string}`>()),
  /** The exact body that is sent. */
  bodyJson: text,
  /** When it happened: the time of the block or of the API call. */
  occurredAt: date,
  createdAt: date,
};
export type EventRecord = RecordOf<typeof eventFields>;
export type EventModel = Model<EventRecord>;

/** The collections of the event log. */
export interface EventModels {
  events: EventModel;
  lengths: LengthModel;
}

/** The collections of the event log. */
export function eventModels(connection: Connection): EventModels {
  return {
    events: collection(connection, "Event", "agent_events", eventFields, [
      [{ agentId: 1, seq: 1 }, { unique: true }],
      [{ agentId: 1, transactionId: 1, seq: 1 }],
      [{ agentId: 1, type: 1, seq: 1 }],
    ]),
    lengths: lengthModel(connection),
  };
}
