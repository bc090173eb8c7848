import { bytes, part, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

const embeddingFields = {
  /** The encoder that made it. */
  model: text,
  /** Unit vector, 32-bit floats, little endian. */
  vector: bytes,
};
/** The embedding of a text, for semantic search. */
export type StoredEmbedding = RecordOf<typeof embeddingFields>;

/** Part of a record that has an embedding. */
export const embedding = part(embeddingFields);
