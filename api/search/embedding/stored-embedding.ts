import { Schema } from "mongoose";

/** The embedding of a text, for semantic search. */
export interface StoredEmbedding {
  /** The encoder that made it. */
  model: string;
  /** Unit vector, 32-bit floats, little endian. */
  vector: Buffer;
}

const required = { required: true } as const;

/** Part of a record that has an embedding. */
export const embeddingSchema = new Schema<StoredEmbedding>(
  { model: { type: String, ...required }, vector: { type: Buffer, ...required } },
  { _id: false },
);
