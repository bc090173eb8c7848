import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

/** How one attempt ended. `interrupted`: the worker died before it could say. */
export const ATTEMPT_OUTCOMES = [
  "running",
  "acknowledged",
  "refused",
  "unreachable",
  "dropped",
  "interrupted",
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** One POST to the receiver. */
export interface DeliveryAttempt {
  startedAt: Date;
  finishedAt: Date | null;
  outcome: AttemptOutcome;
  /** HTTP status of the answer; null without one. */
  statusCode: number | null;
  /** Why it was not acknowledged, for the owner. */
  error: string | null;
}

/** `backup` is the additional delivery of `escrow.funded`, 30 seconds after the immediate attempt (specification 6). */
export const DELIVERY_KINDS = ["immediate", "backup"] as const;
export type DeliveryKind = (typeof DELIVERY_KINDS)[number];

export const DELIVERY_STATUSES = ["pending", "acknowledged", "failed", "dropped"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** An event on its way to one address. */
export interface DeliveryRecord {
  /** `dlv_…`, deterministic by event, agent, address and kind. */
  _id: string;
  eventId: string;
  eventType: string;
  transactionId: string;
  /** The agent whose address and secret it is. */
  agentId: string;
  url: string;
  kind: DeliveryKind;
  /** The body, the same in every attempt. */
  bodyJson: string;
  status: DeliveryStatus;
  /** Earliest moment of the next attempt; null while a backup waits for the immediate attempt. */
  notBefore: Date | null;
  attempts: DeliveryAttempt[];
  /** The worker that is sending, and until when nobody else may. */
  leaseOwner: string | null;
  leaseUntil: Date | null;
  createdAt: Date;
}

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

export type DeliveryModel = Model<DeliveryRecord>;
export type WebhookSecretModel = Model<WebhookSecretRecord>;

/** The delivery log keeps seven days (decision 38). */
const KEPT_SECONDS = 7 * 24 * 3_600;

const text = { type: String, required: true } as const;
const date = { type: Date, required: true } as const;

const attemptSchema = new Schema<DeliveryAttempt>(
  {
    startedAt: date,
    finishedAt: { type: Date, default: null },
    outcome: { ...text, enum: ATTEMPT_OUTCOMES },
    statusCode: { type: Number, default: null },
    error: { type: String, default: null },
  },
  { _id: false },
);

const deliverySchema = new Schema<DeliveryRecord>(
  {
    _id: text,
    eventId: text,
    eventType: text,
    transactionId: text,
    agentId: text,
    url: text,
    kind: { ...text, enum: DELIVERY_KINDS },
    bodyJson: text,
    status: { ...text, enum: DELIVERY_STATUSES },
    notBefore: { type: Date, default: null },
    attempts: [attemptSchema],
    leaseOwner: { type: String, default: null },
    leaseUntil: { type: Date, default: null },
    createdAt: date,
  },
  { collection: "webhook_deliveries", versionKey: false, strict: "throw" },
);
deliverySchema.index({ notBefore: 1 }, { partialFilterExpression: { status: "pending" } });
deliverySchema.index({ agentId: 1, createdAt: -1, _id: -1 });
deliverySchema.index({ agentId: 1, transactionId: 1, createdAt: -1, _id: -1 });
// An agent looks for the few that failed or were dropped among all that arrived.
deliverySchema.index({ agentId: 1, status: 1, createdAt: -1, _id: -1 });
deliverySchema.index({ eventId: 1 });
deliverySchema.index({ createdAt: 1 }, { expireAfterSeconds: KEPT_SECONDS });

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

/** The collection of deliveries. */
export function deliveryModel(connection: Connection): DeliveryModel {
  return connection.model<DeliveryRecord>("WebhookDelivery", deliverySchema);
}

/** The collection of secret rotations. It holds no secret. */
export function webhookSecretModel(connection: Connection): WebhookSecretModel {
  return connection.model<WebhookSecretRecord>("WebhookSecret", secretSchema);
}
