import type { Connection, Model } from "mongoose";

import { isDuplicateKey } from "../db/connection.ts";
import { fromNow, isFree } from "../db/leases.ts";
import { collection, date, text } from "../db/records.ts";
import type { RecordOf } from "../db/records.ts";

/** The stored state of a lease. */
const leaseFields = { _id: text, owner: text, expiresAt: date };

export type LeaseModel = Model<RecordOf<typeof leaseFields>>;

/** The collection of leases. */
export function leaseModel(connection: Connection): LeaseModel {
  return collection(connection, "Lease", "leases", leaseFields);
}

/**
 * A right that at most one process holds at a time, according to the database's clock. It only saves work: the version of
 * its cursor is what stops a follower that was paused past its lease.
 */
export class Lease {
  readonly #leases: LeaseModel;
  readonly #name: string;
  readonly #owner: string;
  readonly #ttlMs: number;
  #renewAt = 0;

  /** @param lease.ttlMs how long a process keeps it after it dies, in milliseconds */
  constructor(lease: { leases: LeaseModel; name: string; owner: string; ttlMs: number }) {
    this.#leases = lease.leases;
    this.#name = lease.name;
    this.#owner = lease.owner;
    this.#ttlMs = lease.ttlMs;
  }

  /** Acquires or renews the lease. False while another process holds it. */
  async acquire(): Promise<boolean> {
    if (performance.now() < this.#renewAt) return true;
    this.#renewAt = 0;
    try {
      const isMine = { $or: [{ $eq: ["$owner", this.#owner] }, isFree("expiresAt")] };
      const held = await this.#leases.findOneAndUpdate(
        { _id: this.#name },
        [
          {
            $set: {
              owner: { $cond: [isMine, this.#owner, "$owner"] },
              expiresAt: { $cond: [isMine, fromNow(this.#ttlMs), "$expiresAt"] },
            },
          },
        ],
        { upsert: true, returnDocument: "after", lean: true, updatePipeline: true },
      );
      const isHeld = held?.owner === this.#owner;
      if (isHeld) this.#renewAt = performance.now() + this.#ttlMs / 2;
      return isHeld;
    } catch (error) {
      // Another process created the document at the same time.
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Releases the lease, so that another process doesn't have to wait until it expires. */
  async release(): Promise<void> {
    this.#renewAt = 0;
    await this.#leases.deleteOne({ _id: this.#name, owner: this.#owner });
  }
}
