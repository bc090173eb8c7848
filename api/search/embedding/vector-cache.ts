import type { Collection } from "mongodb";
import type { Model } from "mongoose";

import type { CachedVectorRecord } from "./model.ts";
import { toBytes, toVector } from "./vectors.ts";

/** A text's entry: its vector, or null if the server refuses the text. */
export interface CacheEntry {
  hash: string;
  vector: Float32Array | null;
  expiresAt: Date;
}

/** Vectors by the hash of their text, shared by all processes. */
export class VectorCache {
  /** Without mongoose's casts: a batch has many vectors. */
  readonly #collection: Collection<CachedVectorRecord>;

  constructor(vectors: Model<CachedVectorRecord>) {
    this.#collection = vectors.collection as unknown as Collection<CachedVectorRecord>;
  }

  /** The vectors of the texts that are known; null for one that the server refuses. */
  async read(hashes: string[]): Promise<ReadonlyMap<string, Float32Array | null>> {
    const found = await this.#collection.find({ _id: { $in: hashes } }, { projection: { vector: 1 } }).toArray();
    return new Map(found.map(({ _id, vector }) => [_id, vector === null ? null : toVector(vector)]));
  }

  /** Stores entries until they expire. */
  async store(entries: readonly CacheEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await this.#collection.bulkWrite(
      entries.map(({ hash: _id, vector, expiresAt }) => ({
        updateOne: {
          filter: { _id },
          update: { $set: { vector: vector === null ? null : toBytes(vector), expiresAt } },
          upsert: true,
        },
      })),
      { ordered: false },
    );
  }
}
