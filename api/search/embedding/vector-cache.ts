import { MongoBulkWriteError } from "mongodb";
import type { AnyBulkWriteOperation } from "mongodb";
import type { Model } from "mongoose";

import { fromNow, isFree, isTaken } from "../../db/leases.ts";
import type { CachedVectorRecord } from "./model.ts";
import { fromBytes, toBytes } from "./vectors.ts";

/** The cache's entries for texts, by their hashes. */
export interface CacheView {
  vectors: ReadonlyMap<string, Float32Array>;
  /** Texts that the server refuses. */
  refused: ReadonlySet<string>;
  /** Texts that another process has embedded at this moment. */
  underWay: ReadonlySet<string>;
}

/** Vectors by the hash of their text, shared by all processes. */
export interface VectorCache {
  read(hashes: readonly string[]): Promise<CacheView>;
  /**
   * Claims texts for `claimMs`, so that nobody else has them embedded in the meantime. A process that dies loses its claims
   * then.
   * @returns the hashes that were claimed
   */
  claim(hashes: readonly string[], owner: string, claimMs: number): Promise<ReadonlySet<string>>;
  /** Keeps vectors of claimed texts. */
  keep(made: readonly { hash: string; vector: Float32Array; expiresAt: Date }[]): Promise<void>;
  /** Remembers until `expiresAt` that the server refuses texts. */
  refuse(hashes: readonly string[], expiresAt: Date): Promise<void>;
  /** Gives up claims. */
  release(hashes: readonly string[], owner: string): Promise<void>;
}

const DUPLICATE_KEY = 11_000;
/** When an abandoned claim is deleted. */
const ABANDONED_MS = 600_000;

/** A cache in the database. */
export function createVectorCache(vectors: Model<CachedVectorRecord>): VectorCache {
  // Without mongoose's casts: a batch has many vectors.
  const { collection } = vectors;
  type Found = Pick<CachedVectorRecord, "_id" | "isRefused"> & { vector?: { buffer: Uint8Array }; isClaimed: boolean };

  async function write(operations: AnyBulkWriteOperation<CachedVectorRecord>[]): Promise<void> {
    if (operations.length > 0) await collection.bulkWrite(operations as never[], { ordered: false });
  }

  return {
    async read(hashes) {
      const projection = { vector: 1, isRefused: 1, isClaimed: isTaken("claimedUntil") };
      const found = await collection.find<Found>({ _id: { $in: hashes } } as never, { projection }).toArray();
      return {
        vectors: new Map(
          found.flatMap(({ _id, vector }) => (vector ? [[_id, fromBytes(vector.buffer)] as const] : [])),
        ),
        refused: new Set(found.flatMap(({ _id, isRefused }) => (isRefused === true ? [_id] : []))),
        underWay: new Set(
          found.flatMap(({ _id, vector, isRefused, isClaimed }) => {
            return isClaimed && !vector && isRefused !== true ? [_id] : [];
          }),
        ),
      };
    },

    async claim(hashes, owner, claimMs) {
      // A kept vector is claimed until its end.
      const ifFree = (value: unknown, otherwise: string) => ({ $cond: [isFree("claimedUntil"), value, otherwise] });
      const change = {
        vector: ifFree("$$REMOVE", "$vector"),
        isRefused: ifFree("$$REMOVE", "$isRefused"),
        claimedBy: ifFree(owner, "$claimedBy"),
        claimedUntil: ifFree(fromNow(claimMs), "$claimedUntil"),
        expiresAt: ifFree(fromNow(ABANDONED_MS), "$expiresAt"),
      };
      try {
        await write(
          hashes.map((_id) => ({ updateOne: { filter: { _id }, update: [{ $set: change }], upsert: true } })),
        );
      } catch (error) {
        // Another process has created the record at the same time: the text is its.
        const errors = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
        if (errors.length === 0 || errors.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
      }
      const claimed = await collection
        .find({ _id: { $in: hashes }, claimedBy: owner } as never, { projection: { _id: 1 } })
        .toArray();
      return new Set(claimed.map(({ _id }) => String(_id)));
    },

    async keep(made) {
      await write(
        made.map(({ hash, vector, expiresAt }) => ({
          updateOne: {
            filter: { _id: hash },
            update: {
              $set: { vector: toBytes(vector), claimedUntil: expiresAt, expiresAt },
              $unset: { claimedBy: "" },
            },
          },
        })),
      );
    },

    async refuse(hashes, expiresAt) {
      if (hashes.length === 0) return;
      const filter = { _id: { $in: hashes } } as never;
      const $set = { isRefused: true, claimedUntil: expiresAt, expiresAt };
      await collection.updateMany(filter, { $set, $unset: { claimedBy: "" } });
    },

    async release(hashes, owner) {
      if (hashes.length > 0) await collection.deleteMany({ _id: { $in: hashes }, claimedBy: owner } as never);
    },
  };
}
