import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

/** A vector by the hash of what it was made from, so that no process pays for a text that another has had embedded. */
export interface CachedVectorRecord {
  /** SHA-256 of model, use, owner and text, as hex. The text itself isn't stored. */
  _id: string;
  /** Unit vector, 32-bit floats, little endian. Missing while a process is embedding it, and if the server refuses the text. */
  vector?: Buffer;
  isRefused?: boolean;
  /** The process that is embedding it. */
  claimedBy?: string;
  /** End of the claim, by the database's clock. Until then no other process embeds the text. */
  claimedUntil: Date;
  /** MongoDB deletes the record after that. */
  expiresAt: Date;
}

/** Tokens spent and reserved in a UTC day: for everybody's texts, or for those of one agent. */
export interface EmbeddingSpendingRecord {
  /** `2026-11-23`, or `2026-11-23|<SHA-256 of an agent's id, or of that and |query>` */
  _id: string;
  tokens: number;
  /** MongoDB deletes the record after that. */
  expiresAt: Date;
}

/** The collections of embedding by a server. */
export interface EmbeddingModels {
  vectors: Model<CachedVectorRecord>;
  spending: Model<EmbeddingSpendingRecord>;
}

const required = { required: true } as const;
const text = { type: String, ...required } as const;
const date = { type: Date, ...required } as const;
const options = { versionKey: false, strict: "throw" } as const;

const vectorSchema = new Schema<CachedVectorRecord>(
  { _id: text, vector: Buffer, isRefused: Boolean, claimedBy: String, claimedUntil: date, expiresAt: date },
  { ...options, collection: "embeddings" },
);
vectorSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

const spendingSchema = new Schema<EmbeddingSpendingRecord>(
  { _id: text, tokens: { type: Number, ...required }, expiresAt: date },
  { ...options, collection: "embedding_spending" },
);
spendingSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

/** Declares the collections on a connection. */
export function embeddingModels(connection: Connection): EmbeddingModels {
  return {
    vectors: connection.model<CachedVectorRecord>("CachedVector", vectorSchema),
    spending: connection.model<EmbeddingSpendingRecord>("EmbeddingSpending", spendingSchema),
  };
}
