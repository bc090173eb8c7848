import { isDuplicateKey } from "../../db/connection.ts";
import type { LeaseModel } from "./model.ts";

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
        const held = await leases.findOneAndUpdate(
          { _id: name, $or: [{ owner }, { $expr: { $lte: ["$expiresAt", "$$NOW"] } }] },
          [{ $set: { owner, expiresAt: { $add: ["$$NOW", ttlMs] } } }],
          { upsert: true, returnDocument: "after", lean: true, updatePipeline: true },
        );
        const isHeld = held?.owner === owner;
        if (isHeld) renewAt = performance.now() + ttlMs / 3;
        return isHeld;
      } catch (error) {
        // The document exists and is another's: the upsert ran into its _id.
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
