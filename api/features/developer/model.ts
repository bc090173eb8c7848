import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

/** A request for developer access: one for each address. */
export interface AccessRequestRecord {
  /** The address in lower case. */
  _id: string;
  name: string | null;
  useCase: string | null;
  /** `pending` until its mail is accepted by the server or has failed for good. */
  status: "pending" | "sent" | "failed";
  /** How often the mail was tried. Each try begins by writing this, so a killed one counts. */
  attempts: number;
  /** When the mail is tried next, unless it has been sent by then. */
  dueAt: Date;
  requestedAt: Date;
}

/** A token that was mailed, stored as its hash. */
export interface MailTokenRecord {
  /** SHA-256 of the token. */
  _id: string;
  email: string;
  /** When the token becomes invalid. MongoDB deletes the record after that. */
  expiresAt: Date;
}

/** The collections of the developer feature. */
export interface DeveloperModels {
  requests: Model<AccessRequestRecord>;
  tokens: Model<MailTokenRecord>;
}

/** How long an address is kept after its last request. */
const REQUESTS_KEPT_SECONDS = 30 * 24 * 3_600;

const text = { type: String, required: true } as const;
const date = { type: Date, required: true } as const;
const options = { versionKey: false, strict: "throw" } as const;

/** Declares the collections on a connection. */
export function createDeveloperModels(connection: Connection): DeveloperModels {
  const request = new Schema<AccessRequestRecord>(
    {
      _id: text,
      name: { type: String, default: null },
      useCase: { type: String, default: null },
      status: { type: String, enum: ["pending", "sent", "failed"], required: true },
      attempts: { type: Number, required: true },
      dueAt: date,
      requestedAt: date,
    },
    { ...options, collection: "access_requests" },
  );
  request.index({ dueAt: 1 }, { partialFilterExpression: { status: "pending" } });
  request.index({ requestedAt: 1 }, { expireAfterSeconds: REQUESTS_KEPT_SECONDS });

  const token = new Schema<MailTokenRecord>(
    { _id: text, email: text, expiresAt: date },
    { ...options, collection: "mail_tokens" },
  );
  token.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

  return {
    requests: connection.model<AccessRequestRecord>("AccessRequest", request),
    tokens: connection.model<MailTokenRecord>("MailToken", token),
  };
}
