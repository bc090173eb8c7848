import type { Connection, Model } from "mongoose";

import { bytes, collection, date, nullable, number, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** A vector by the hash of what it was made from, so that a text isn't paid for again soon. */
const vectorFields = {
  /** SHA-256 of model, use, owner and text, as hex. The text itself isn't stored. */
  _id: text,
  /** Unit vector, 32-bit floats, little endian. Null if the server refuses the text. */
  vector: nullable(bytes),
  /** MongoDB deletes the record after that. */
  expiresAt: date,
};
export type CachedVectorRecord = RecordOf<typeof vectorFields>;

/** Tokens spent and reserved in a UTC day: for everybody's texts, or for those of one agent. */
const spendingFields = {
  /** `2026-11-23`, or `2026-11-23|<SHA-256 of an agent's id, or of that and |query>` */
  _id: text,
  tokens: number,
  /** MongoDB deletes the record after that. */
  expiresAt: date,
};
export type EmbeddingSpendingRecord = RecordOf<typeof spendingFields>;

/** The collections of embedding by a server. */
export interface EmbeddingModels {
  vectors: Model<CachedVectorRecord>;
  spending: Model<EmbeddingSpendingRecord>;
}

const EXPIRES = [{ expiresAt: 1 }, { expireAfterSeconds: 0 }] as const;

/** Declares the collections on a connection. */
export function embeddingModels(connection: Connection): EmbeddingModels {
  return {
    vectors: collection(connection, "CachedVector", "embeddings", vectorFields, [EXPIRES]),
    spending: collection(connection, "EmbeddingSpending", "embedding_spending", spendingFields, [EXPIRES]),
  };
}
