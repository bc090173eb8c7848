import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import type { StoredResponse } from "../../http/stored-response.ts";

/** A request with an `Idempotency-Key`, and its answer once it has one. */
export interface IdempotencyRecord {
  /** Hash of caller, route and key. */
  _id: string;
  /** Hash of the request's input. */
  fingerprint: string;
  state: "open" | "done";
  /** The request that runs or ran last. */
  owner: string;
  /** Until then only the owner may run. In the past if nobody runs. */
  leaseEndsAt: Date;
  /** Number of requests that have run. */
  runs: number;
  /** When the operation began, and its random seed: the ids of what it creates derive from both. */
  startedAt: Date;
  seed: string;
  /** Null if there is none yet, or if it isn't kept. */
  answer: StoredResponse | null;
  /** MongoDB deletes the record after that. */
  expiresAt: Date;
}

export type IdempotencyModel = Model<IdempotencyRecord>;

const required = { required: true } as const;

/** Declares the collection on a connection. */
export function idempotencyModel(connection: Connection): IdempotencyModel {
  const schema = new Schema<IdempotencyRecord>(
    {
      _id: { type: String, ...required },
      fingerprint: { type: String, ...required },
      state: { type: String, enum: ["open", "done"], ...required },
      owner: { type: String, ...required },
      leaseEndsAt: { type: Date, ...required },
      runs: { type: Number, ...required },
      startedAt: { type: Date, ...required },
      seed: { type: String, ...required },
      answer: { type: Schema.Types.Mixed, default: null },
      expiresAt: { type: Date, ...required },
    },
    { collection: "idempotency_keys", versionKey: false, strict: "throw" },
  );
  schema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
  return connection.model<IdempotencyRecord>("IdempotencyKey", schema);
}
