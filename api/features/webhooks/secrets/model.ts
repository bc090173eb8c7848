import type { Connection, Model } from "mongoose";

import { collection, date, nullable, number, part, text } from "../../../db/records.ts";
import type { RecordOf } from "../../../db/records.ts";

/** Versions of an agent's webhook secrets. Agents without a record use version 0, rotation 0. */
const secretFields = {
  /** Agent id. */
  _id: text,
  /** The current secret: the position of its master in WEBHOOK_SIGNING_SECRET, and its rotation counter. */
  masterVersion: number,
  rotation: number,
  /** The secret that signs from `activatesAt`; null if no rotation is in progress. */
  next: nullable(part({ masterVersion: number, rotation: number, activatesAt: date })),
};

export type WebhookSecretRecord = RecordOf<typeof secretFields>;
export type WebhookSecretModel = Model<WebhookSecretRecord>;

/** The collection of secret rotations. It holds no secret. */
export function webhookSecretModel(connection: Connection): WebhookSecretModel {
  return collection(connection, "WebhookSecret", "webhook_secrets", secretFields);
}
