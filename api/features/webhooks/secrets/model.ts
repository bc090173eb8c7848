import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

/** Versions of an agent's webhook secrets. Agents without a record use version 0, rotation 0. */
export interface WebhookSecretRecord {
  /** Agent id. */
  _id: string;
  /** The current secret: the position of its master in WEBHOOK_SIGNING_SECRET, and its rotation counter. */
  masterVersion: number;
  rotation: number;
  /** The secret that signs from `activatesAt`; null if no rotation is in progress. */
  next: { masterVersion: number; rotation: number; activatesAt: Date } | null;
}

export type WebhookSecretModel = Model<WebhookSecretRecord>;

const text = { type: String, required: true } as const;
const date = { type: Date, required: true } as const;

const nextSecret = new Schema<NonNullable<WebhookSecretRecord["next"]>>(
  {
    masterVersion: { type: Number, required: true },
    rotation: { type: Number, required: true },
    activatesAt: date,
  },
  { _id: false },
);

const secretSchema = new Schema<WebhookSecretRecord>(
  {
    _id: text,
    masterVersion: { type: Number, required: true },
    rotation: { type: Number, required: true },
    next: { type: nextSecret, default: null },
  },
  { collection: "webhook_secrets", versionKey: false, strict: "throw" },
);

/** The collection of secret rotations. It holds no secret. */
export function webhookSecretModel(connection: Connection): WebhookSecretModel {
  return connection.model<WebhookSecretRecord>("WebhookSecret", secretSchema);
}
