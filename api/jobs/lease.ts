import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { isDuplicateKey } from "../db/connection.ts";

/** A right that one process has at a time. */
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

/** A right that at most one process has at a time, by the clock of the database. */
export interface Lease {
  /** Takes or renews the right. False while another process has it. */
  acquire(): Promise<boolean>;
  /** Gives the right back, so that another process need not wait for its end. */
  release(): Promise<void>;
}

/**
 * A lease document. Leadership only spares work: a follower that was paused past its lease is stopped by the version of
 * its cursor, not by this.
 * @param ttlMs how long a process that died keeps the right
 */
export function createLease(leases: LeaseModel, name: string, owner: string, ttlMs: number): Lease {
  let renewAt = 0;
  return {
    async acquire() {
      if (performance.now() < renewAt) return true;
      renewAt = 0;
      try {
        // Decided inside the update, by the clock of the database: an absent `expiresAt` sorts before every date.
        const isMine = { $or: [{ $eq: ["$owner", owner] }, { $lte: ["$expiresAt", "$$NOW"] }] };
        const held = await leases.findOneAndUpdate(
          { _id: name },
          [
            {
              $set: {
                owner: { $cond: [isMine, owner, "$owner"] },
                expiresAt: { $cond: [isMine, { $add: ["$$NOW", ttlMs] }, "$expiresAt"] },
              },
            },
          ],
          { upsert: true, returnDocument: "after", lean: true, updatePipeline: true },
        );
        const isHeld = held?.owner === owner;
        if (isHeld) renewAt = performance.now() + ttlMs / 3;
        return isHeld;
      } catch (error) {
        // Another process made the document in the same moment.
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
