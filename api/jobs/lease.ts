import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { isDuplicateKey } from "../db/connection.ts";
import { fromNow, isFree } from "../db/leases.ts";

/** The stored state of a lease. */
export interface LeaseRecord {
  _id: string;
  owner: string;
  expiresAt: Date;
}

export type LeaseModel = Model<LeaseRecord>;

const leaseSchema = new Schema<LeaseRecord>(
  {
    _id: { type: String, required: true },
    owner: { type: String, required: true },
    expiresAt: { type: Date, required: true },
  },
  { collection: "leases", versionKey: false, strict: "throw" },
);

/** The collection of leases. */
export function leaseModel(connection: Connection): LeaseModel {
  return connection.model<LeaseRecord>("Lease", leaseSchema);
}

/** A right that at most one process holds at a time, according to the database's clock. */
export interface Lease {
  /** Acquires or renews the lease. False while another process holds it. */
  acquire(): Promise<boolean>;
  /** Releases the lease, so that another process doesn't have to wait until it expires. */
  release(): Promise<void>;
}

/**
 * A lease stored as a document. A lease only saves work: the version of its cursor is what stops a follower that was
 * paused past its lease.
 * @param ttlMs how long a process keeps the lease after it dies, in milliseconds
 */
export function createLease(leases: LeaseModel, name: string, owner: string, ttlMs: number): Lease {
  let renewAt = 0;
  return {
    async acquire() {
      if (performance.now() < renewAt) return true;
      renewAt = 0;
      try {
        const isMine = { $or: [{ $eq: ["$owner", owner] }, isFree("expiresAt")] };
        const held = await leases.findOneAndUpdate(
          { _id: name },
          [
            {
              $set: {
                owner: { $cond: [isMine, owner, "$owner"] },
                expiresAt: { $cond: [isMine, fromNow(ttlMs), "$expiresAt"] },
              },
            },
          ],
          { upsert: true, returnDocument: "after", lean: true, updatePipeline: true },
        );
        const isHeld = held?.owner === owner;
        if (isHeld) renewAt = performance.now() + ttlMs / 3;
        return isHeld;
      } catch (error) {
        // Another process created the document at the same time.
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    async release() {
      renewAt = 0;
      await leases.deleteOne({ _id: name, owner });
    },
  };
}
