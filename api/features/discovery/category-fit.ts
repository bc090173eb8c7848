import type { Logger } from "../../lib/logger.ts";
import { CATEGORY_TOPICS } from "./category-topics.ts";
import { NoVectorError } from "../../search/embedding/encoder.ts";
import type { SentenceEncoder } from "../../search/embedding/encoder.ts";
import { cosine } from "../../search/embedding/vectors.ts";

/**
 * How well a listing's text belongs in its category, LEAST_FIT to 1. 1 without a vector, and in a category without a topic.
 */
export type CategoryFit = (category: string, vector: Float32Array | null) => number;

/** Fit of a listing whose text has nothing to do with its category. It isn't 0: an unusual offer can look like that, too. */
const LEAST_FIT = 0.8;
/**
 * Standard deviations from the mean cosine of two categories: above it, where a listing belongs in its own, and down from there,
 * where it has nothing to do with it. Relative to the categories' own cosines, the bounds hold for any encoder.
 */
const RELATED_DEVIATIONS = 1;
const UNRELATED_DEVIATIONS = 1.5;

/** How long a search waits for the topics. */
const PATIENCE_MS = 3_000;

/**
 * Compares listings with what is usual in their category.
 * @returns loads the comparison, once; a failure leaves every listing at 1 until the next call
 */
export function createCategoryFit(encoder: Pick<SentenceEncoder, "encode">, log: Logger): () => Promise<CategoryFit> {
  let loading: Promise<CategoryFit> | undefined;

  return async () => {
    loading ??= compareByTopics(encoder);
    try {
      return await loading;
    } catch (error) {
      loading = undefined;
      // The encoder logs an outage and a spent budget itself.
      if (!(error instanceof NoVectorError)) log.warn({ err: error }, "couldn't encode the topics of the categories");
      return () => 1;
    }
  };
}

async function compareByTopics(encoder: Pick<SentenceEncoder, "encode">): Promise<CategoryFit> {
  const topics = new Map(
    await Promise.all(
      Object.entries(CATEGORY_TOPICS).map(
        async ([category, text]) =>
          [category, (await encoder.encode(text, { patienceMs: PATIENCE_MS })).vector] as const,
      ),
    ),
  );
  const { mean, deviation } = computeSpread(cosinesOf([...topics.values()]));
  const related = mean + RELATED_DEVIATIONS * deviation;
  const width = UNRELATED_DEVIATIONS * deviation;
  return (category, vector) => {
    const topic = topics.get(category);
    if (topic === undefined || vector === null) return 1;
    const below = related - cosine(topic, vector);
    return below <= 0 ? 1 : 1 - (1 - LEAST_FIT) * Math.min(1, below / width);
  };
}

/** The cosine of each pair. */
function cosinesOf(vectors: readonly Float32Array[]): number[] {
  return vectors.flatMap((vector, index) => vectors.slice(index + 1).map((other) => cosine(vector, other)));
}

function computeSpread(values: readonly number[]): { mean: number; deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(variance) };
}
