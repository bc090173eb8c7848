import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { EVENT_TYPES } from "../../events/model.ts";
import type { EventType } from "../../events/model.ts";

export const WEBHOOK_STATUSES = ["active", "disabled"] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** An address that an agent has registered for some of its events. */
export interface WebhookRecord {
  /** `whk_…` */
  _id: string;
  agentId: string;
  /** Position among the agent's registrations, 0 to 19. Unique per agent, so an agent can't exceed the limit. */
  slot: number;
  url: string;
  events: EventType[];
  /** Whether its dispatches are retried for a day, in order per record. */
  durable: boolean;
  status: WebhookStatus;
  /** Time of the first failure since the last acknowledgement; null if there is none. */
  failingSince: Date | null;
  /** When the service stopped sending to it; null while it is active. */
  disabledAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

export type WebhookModel = Model<WebhookRecord>;

/** A removed registration, stored for repeats of the request that removed it. */
export interface WebhookRemovalRecord {
  /** Id derived from the request's operation. */
  _id: string;
  agentId: string;
  webhook: WebhookRecord;
  /** When MongoDB deletes the record. */
  expiresAt: Date;
}

export type WebhookRemovalModel = Model<WebhookRemovalRecord>;

const text = { type: String, required: true } as const;
const date = { type: Date, required: true } as const;
const dateOrNull = { type: Date, default: null } as const;

const webhookSchema = new Schema<WebhookRecord>(
  {
    _id: text,
    agentId: text,
    slot: { type: Number, required: true },
    url: text,
    events: [{ ...text, enum: EVENT_TYPES }],
    durable: { type: Boolean, required: true },
    status: { ...text, enum: WEBHOOK_STATUSES },
    failingSince: dateOrNull,
    disabledAt: dateOrNull,
    createdAt: date,
    updatedAt: date,
  },
  { collection: "webhooks", versionKey: false, strict: "throw" },
);
webhookSchema.index({ agentId: 1, slot: 1 }, { unique: true });
webhookSchema.index({ agentId: 1, _id: -1 });
// For the recorder of events.
webhookSchema.index({ agentId: 1, status: 1, events: 1 });

/** The registered webhooks. */
export function webhookModel(connection: Connection): WebhookModel {
  return connection.model<WebhookRecord>("Webhook", webhookSchema);
}

const removalSchema = new Schema<WebhookRemovalRecord>(
  { _id: text, agentId: text, webhook: { type: Schema.Types.Mixed, required: true }, expiresAt: date },
  { collection: "webhook_removals", versionKey: false, strict: "throw" },
);
removalSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

/** The webhooks that were removed within the last day. */
export function webhookRemovalModel(connection: Connection): WebhookRemovalModel {
  return connection.model<WebhookRemovalRecord>("WebhookRemoval", removalSchema);
}
