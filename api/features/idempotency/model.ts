import type { Connection, Model } from "mongoose";

import { collection, date, mixed, nullable, number, oneOf, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import type { StoredResponse } from "../../http/stored-response.ts";

/** A request with an `Idempotency-Key`, and its answer once it has one. */
const fields = {
  /** Hash of caller, route and key. */
  _id: text,
  /** Hash of the request's input. */
  fingerprint: text,
  state: oneOf(["open", "done"]),
  /** The request that runs or ran last. */
  owner: text,
  /** Until then only the owner may run. In the past if nobody runs. */
  leaseEndsAt: date,
  /** Number of requests that have run. */
  runs: number,
  /** When the operation began, and its random seed: the ids of what it creates derive from both. */
  startedAt: date,
  seed: text,
  /** Null if there is none yet, or if it isn't kept. */
  answer: nullable(mixed<StoredResponse>()),
  /** MongoDB deletes the record after that. */
  expiresAt: date,
};
export type IdempotencyRecord = RecordOf<typeof fields>;
export type IdempotencyModel = Model<IdempotencyRecord>;

/** Declares the collection on a connection. */
export function idempotencyModel(connection: Connection): IdempotencyModel {
  return collection(connection, "IdempotencyKey", "idempotency_keys", fields, [
    [{ expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ]);
}
