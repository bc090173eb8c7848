import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { EVENT_TYPES } from "../../events/model.ts";
import type { EventType } from "../../events/model.ts";

export const WEBHOOK_STATUSES = ["active", "disabled"] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** An address that an agent has registered for some of its events (specification 4, row 24). */
export interface WebhookRecord {
  /** `whk_…` */
  _id: string;
  agentId: string;
  /** Position among the agent's registrations, from 0. Unique, so that an agent can't have more than there are. */
  slot: number;
  url: string;
  events: EventType[];
  /** Whether its dispatches are retried for a day, in order per record (decision 37). */
  durable: boolean;
  status: WebhookStatus;
  /** Start of the first attempt that failed since the last acknowledgement; null if none has. */
  failingSince: Date | null;
  /** When the service stopped sending to it; null while it is active. */
  disabledAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

export type WebhookModel = Model<WebhookRecord>;

/** A registration that was removed, for a repeat of the request that removed it. */
export interface WebhookRemovalRecord {
  /** Id that the request's operation gives it. */
  _id: string;
  agentId: string;
  webhook: WebhookRecord;
  /** MongoDB deletes the record after that. */
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
