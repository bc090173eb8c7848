import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

/** Which secret signs the webhooks of an agent (decision 38). Agents without a record use version 0, rotation 0. */
export interface WebhookSecretRecord {
  /** Agent id. */
  _id: string;
  /** Position of the master in WEBHOOK_SIGNING_SECRET, and the rotation counter, of the secret that signs now. */
  masterVersion: number;
  rotation: number;
  /** The secret that will sign from `activatesAt` on; null without a rotation under way. */
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
