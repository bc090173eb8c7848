import type { Connection, Model } from "mongoose";

import { collection, date, listOf, nullable, number, oneOf, part, text } from "../../db/records.ts";
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
  /** The mailed tokens that nobody has used, as SHA-256. The next mail removes those that have expired. */
  tokens: listOf(part({ hash: text, expiresAt: date })),
};
export type AccessRequestRecord = RecordOf<typeof requestFields>;

/** The collections of the developer feature. */
export interface DeveloperModels {
  requests: Model<AccessRequestRecord>;
}

/** How long an address is kept after its last request. */
const REQUESTS_KEPT_SECONDS = 30 * 24 * 3_600;

/** Declares the collections on a connection. */
export function createDeveloperModels(connection: Connection): DeveloperModels {
  return {
    requests: collection(connection, "AccessRequest", "access_requests", requestFields, [
      [{ dueAt: 1 }, { partialFilterExpression: { status: "pending" } }],
      [{ requestedAt: 1 }, { expireAfterSeconds: REQUESTS_KEPT_SECONDS }],
      [{ "tokens.hash": 1 }],
    ]),
  };
}
