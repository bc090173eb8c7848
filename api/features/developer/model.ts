import type { Connection, Model } from "mongoose";

import { collection, date, nullable, number, oneOf, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** A request for developer access: one for each address. */
const requestFields = {
  /** The address in lower case. */
  _id: text,
  name: nullable(text),
  useCase: nullable(text),
  /** `pending` until its mail is accepted by the server or has failed for good. */
  status: oneOf(["pending", "sent", "failed"]),
  /** How often the mail was tried. Each try begins by writing this, so a killed one counts. */
  attempts: number,
  /** When the mail is tried next, unless it has been sent by then. */
  dueAt: date,
  requestedAt: date,
};
export type AccessRequestRecord = RecordOf<typeof requestFields>;

/** A token that was mailed, stored as its hash. */
const tokenFields = {
  /** SHA-256 of the token. */
  _id: text,
  email: text,
  /** When the token becomes invalid. MongoDB deletes the record after that. */
  expiresAt: date,
};
export type MailTokenRecord = RecordOf<typeof tokenFields>;

/** The collections of the developer feature. */
export interface DeveloperModels {
  requests: Model<AccessRequestRecord>;
  tokens: Model<MailTokenRecord>;
}

/** How long an address is kept after its last request. */
const REQUESTS_KEPT_SECONDS = 30 * 24 * 3_600;

/** Declares the collections on a connection. */
export function createDeveloperModels(connection: Connection): DeveloperModels {
  return {
    requests: collection(connection, "AccessRequest", "access_requests", requestFields, [
      [{ dueAt: 1 }, { partialFilterExpression: { status: "pending" } }],
      [{ requestedAt: 1 }, { expireAfterSeconds: REQUESTS_KEPT_SECONDS }],
    ]),
    tokens: collection(connection, "MailToken", "mail_tokens", tokenFields, [
      [{ expiresAt: 1 }, { expireAfterSeconds: 0 }],
    ]),
  };
}
