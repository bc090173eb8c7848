import type { Logger } from "../../lib/logger.ts";
import { NoVectorError } from "./encoder.ts";
import type { SentenceEncoder } from "./encoder.ts";
import type { StoredEmbedding } from "./stored-embedding.ts";
import { toBytes } from "./vectors.ts";

/** How long a request waits for the embedding of what it writes. */
const PATIENCE_MS = 3_000;

/** Embeds texts as they are written. */
export interface Embedder {
  /**
   * @param agent id of the agent whose private text it is, or on whose share of the day's tokens it counts
   * @returns null if that isn't possible at the moment: a job embeds the text later
   */
  embed(text: string, agent: { owner: string } | { spender: string }): Promise<StoredEmbedding | null>;
}

/** Embeds texts with the encoder. It logs a failure and leaves the text to the job that embeds pending ones. */
export function createEmbedder(encoder: SentenceEncoder, log: Logger): Embedder {
  return {
    async embed(text, agent) {
      try {
        const { vector } = await encoder.encode(text, { ...agent, patienceMs: PATIENCE_MS });
        return { model: encoder.model, vector: toBytes(vector) };
      } catch (error) {
        // The encoder logs an outage and a spent budget once, not for each text.
        if (!(error instanceof NoVectorError)) log.warn({ err: error }, "couldn't embed a text; it is pending");
        return null;
      }
    },
  };
}
