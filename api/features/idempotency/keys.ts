import { randomBytes } from "node:crypto";

import { isDuplicateKey } from "../../db/connection.ts";
import { fromNow, isFree, released, renewed } from "../../db/leases.ts";
import { fromStoredResponse, toStoredResponse } from "../../http/stored-response.ts";
import type { StorableResponse } from "../../http/stored-response.ts";
import type { Claim, IdempotencyKeys, KeyedRequest } from "../../http/policies/idempotency.ts";
import type { Logger } from "../../lib/logger.ts";
import type { IdempotencyModel, IdempotencyRecord } from "./model.ts";

/** Durations of idempotency keys. Tests shorten the lease. */
export interface IdempotencyTimings {
  /** How long a key stays blocked after the process that ran its request was killed, in milliseconds. */
  idempotencyLeaseMs: number;
}

export const IDEMPOTENCY_TIMINGS: IdempotencyTimings = { idempotencyLeaseMs: 15_000 };

/** How long a key is remembered after its first request. */
const KEPT_MS = 24 * 3_600_000;
const SEED_BYTES = 16;
/** Times that a claim is tried when MongoDB deletes the old record, or another process creates it, in between. */
const CLAIM_ATTEMPTS = 3;

/** Dependencies of the stored idempotency keys. */
export interface IdempotencyKeysDeps {
  model: IdempotencyModel;
  log: Logger;
  timings: IdempotencyTimings;
}

/**
 * Idempotency keys in the database. The database's clock decides who runs, so the processes agree. Claiming a key takes
 * one round trip.
 */
export class StoredIdempotencyKeys implements IdempotencyKeys {
  readonly #deps: IdempotencyKeysDeps;
  readonly renewEveryMs: number;
  readonly #leaseMs: number;

  constructor(deps: IdempotencyKeysDeps) {
    this.#deps = deps;
    this.#leaseMs = deps.timings.idempotencyLeaseMs;
    this.renewEveryMs = this.#leaseMs / 3;
  }

  async claim({ id, fingerprint }: KeyedRequest): Promise<Claim> {
    const owner = randomBytes(SEED_BYTES).toString("hex");
    for (let attempt = 1; ; attempt += 1) {
      try {
        const record = await this.#write(id, fingerprint, owner);
        if (record !== null) return claimFrom(record, fingerprint, owner);
      } catch (error) {
        // Two requests created the record at the same time.
        if (!isDuplicateKey(error) || attempt === CLAIM_ATTEMPTS) throw error;
      }
    }
  }

  async renew({ id }: KeyedRequest, owner: string): Promise<void> {
    try {
      await this.#deps.model.updateOne({ _id: id, owner, state: "open" }, renewed("leaseEndsAt", this.#leaseMs), {
        updatePipeline: true,
      });
    } catch (error) {
      this.#deps.log.warn({ err: error }, "couldn't renew an idempotency key");
    }
  }

  async finish({ id }: KeyedRequest, owner: string, answer: StorableResponse | null): Promise<void> {
    try {
      await this.#deps.model.updateOne(
        { _id: id, owner },
        { $set: { state: "done", answer: answer === null ? null : toStoredResponse(answer) } },
      );
    } catch (error) {
      // The work is done, so the caller gets the answer. A repeat runs as the same operation.
      this.#deps.log.error({ err: error }, "couldn't keep the answer for an idempotency key");
    }
  }

  async release({ id }: KeyedRequest, owner: string): Promise<void> {
    await this.#deps.model.updateOne({ _id: id, owner, state: "open" }, released("leaseEndsAt"), {
      updatePipeline: true,
    });
  }

  async #write(id: string, fingerprint: string, owner: string): Promise<IdempotencyRecord | null> {
    const isNew = { $eq: [{ $type: "$state" }, "missing"] };
    const isResumable = {
      $and: [{ $eq: ["$state", "open"] }, { $eq: ["$fingerprint", fingerprint] }, isFree("leaseEndsAt")],
    };
    const fresh = {
      _id: id,
      fingerprint,
      state: "open",
      owner,
      leaseEndsAt: fromNow(this.#leaseMs),
      runs: 1,
      answer: null,
      startedAt: "$$NOW",
      seed: randomBytes(SEED_BYTES).toString("hex"),
      expiresAt: fromNow(KEPT_MS),
    };
    const taken = {
      $mergeObjects: ["$$ROOT", { owner, leaseEndsAt: fromNow(this.#leaseMs), runs: { $add: ["$runs", 1] } }],
    };
    return this.#deps.model
      .findOneAndUpdate(
        { _id: id },
        [{ $replaceWith: { $cond: [isNew, fresh, { $cond: [isResumable, taken, "$$ROOT"] }] } }],
        { upsert: true, returnDocument: "after", lean: true, updatePipeline: true },
      )
      .lean();
  }
}

function claimFrom(record: IdempotencyRecord, fingerprint: string, owner: string): Claim {
  const { state, answer, startedAt, seed, runs } = record;
  if (record.fingerprint !== fingerprint) return { state: "mismatch" };
  if (state === "done") return { state: "done", answer: answer === null ? null : fromStoredResponse(answer) };
  if (record.owner !== owner) return { state: "running" };
  return { state: "claimed", start: { startedAt, seed, isRepeat: runs > 1 }, owner };
}
