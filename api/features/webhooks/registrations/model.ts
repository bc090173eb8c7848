import type { Connection, Model } from "mongoose";

import { collection, date, flag, listOf, nullable, number, oneOf, text } from "../../../db/records.ts";
import type { RecordOf } from "../../../db/records.ts";
import { EVENT_TYPES } from "../../events/model.ts";

export const WEBHOOK_STATUSES = ["active", "disabled"] as const;

/** An address that an agent has registered for some of its events. */
const webhookFields = {
  /** `whk_…` */
  _id: text,
  agentId: text,
  /** Position among the agent's registrations, 0 to 19. Unique per agent, so an agent can't exceed the limit. */
  slot: number,
  url: text,
  events: listOf(oneOf(EVENT_TYPES)),
  /** Whether its dispatches are retried for a day, in order per record. */
  durable: flag,
  status: oneOf(WEBHOOK_STATUSES),
  /** Time of the first failure since the last acknowledgement; null if there is none. */
  failingSince: nullable(date),
  /** When the service stopped sending to it; null while it is active. */
  disabledAt: nullable(date),
  createdAt: date,
  updatedAt: date,
};

export type WebhookRecord = RecordOf<typeof webhookFields>;
export type WebhookModel = Model<WebhookRecord>;

/** The registered webhooks. */
export function webhookModel(connection: Connection): WebhookModel {
  return collection(connection, "Webhook", "webhooks", webhookFields, [
    [{ agentId: 1, slot: 1 }, { unique: true }],
    [{ agentId: 1, _id: -1 }],
    // For the recorder of events.
    [{ agentId: 1, status: 1, events: 1 }],
  ]);
}
