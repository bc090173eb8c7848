import type { Encoding } from "../embedding/encoder.ts";

/** How an encoder's cosines are read. Each encoder has scales of its own. */
interface Scale {
  /** Minimum cosine of a document that answers a query. Unrelated sentences stay below it. */
  leastCosine: number;
  /** The same for a query of words that the encoder mostly doesn't know. Gibberish stays below it. */
  leastCosineOfUnknownWords: number;
  /**
   * Maximum that matching words add to the cosine. They add it by the share of the query's words that match: a single rare one
   * otherwise counts more than the meaning of all.
   */
  wordWeight: number;
}

/** What is searched: listings, which sellers write for strangers, or the entries of an agent's memory. */
export type Searched = "listings" | "entries";

/**
 * The scales of the embedded encoder, by the query's language, were tuned on the tuning halves of test/bench/discovery and
 * test/bench/memory. What they reach is measured with other queries.
 */
const SCALES: Readonly<Record<Searched, Record<NonNullable<Encoding["language"]>, Scale>>> = {
  listings: {
    english: { leastCosine: 0.15, leastCosineOfUnknownWords: 0.24, wordWeight: 0.05 },
    // The cosine is that of one part, so it is smaller.
    other: { leastCosine: 0.13, leastCosineOfUnknownWords: 0.13, wordWeight: 0.05 },
  },
  // A word shared with a note of one's own is mostly a name or a date, and tells notes of the same matter apart.
  entries: {
    english: { leastCosine: 0.22, leastCosineOfUnknownWords: 0.24, wordWeight: 0.3 },
    other: { leastCosine: 0.11, leastCosineOfUnknownWords: 0.11, wordWeight: 0.3 },
  },
};
/** Of an embedding server, and of a query without a vector. */
const OTHER_ENCODERS: Scale = { leastCosine: 0.28, leastCosineOfUnknownWords: 0.42, wordWeight: 0.25 };
const LEAST_KNOWN_WORD_SHARE = 0.3;
/** Share of a query's words that makes a document an answer regardless of its meaning. */
const LEAST_WORD_COVERAGE = 0.5;
/** Word score (BM25) that adds half of that. */
const HALF_WORD_SCORE = 10;

/** How well a document's words match those of a query. */
export interface WordMatch {
  /** BM25. */
  score: number;
  /** Share of the query's words that are in the document, 0 to 1. */
  coverage: number;
}

/** The score of a document with matching words where they all count the same. */
export const EVEN_WORD_SCORE = HALF_WORD_SCORE;

/** For a document that shares no word with the query. */
export const NO_WORDS: WordMatch = { score: 0, coverage: 0 };

/** The parts of a document's relevance. */
export interface RelevanceParts {
  /** Cosine of query and document; 0 if it is negative, or for a document that hasn't been embedded yet. */
  meaning: number;
  /** The share of the matching words. */
  words: number;
}

/** How relevant a document is; undefined if it doesn't answer the query. */
export function computeRelevance(
  searched: Searched,
  encoding: Encoding | null,
  closeness: number,
  match: WordMatch,
): RelevanceParts | undefined {
  const scale = scaleOf(searched, encoding);
  const isKnown = encoding !== null && encoding.knownWordShare >= LEAST_KNOWN_WORD_SHARE;
  const leastCosine = isKnown ? scale.leastCosine : scale.leastCosineOfUnknownWords;
  if (closeness < leastCosine && match.coverage < LEAST_WORD_COVERAGE) return undefined;
  return measureParts(searched, encoding, closeness, match);
}

/** The parts of the relevance that a document has or, if it doesn't answer the query, would have. */
export function measureParts(
  searched: Searched,
  encoding: Encoding | null,
  closeness: number,
  match: WordMatch,
): RelevanceParts {
  const { score, coverage } = match;
  const { wordWeight } = scaleOf(searched, encoding);
  return { meaning: Math.max(0, closeness), words: (wordWeight * coverage * score) / (score + HALF_WORD_SCORE) };
}

function scaleOf(searched: Searched, encoding: Encoding | null): Scale {
  return encoding?.language === undefined ? OTHER_ENCODERS : SCALES[searched][encoding.language];
}

/** The relevance of a document, 0 to 1. */
export function sumOf({ meaning, words }: RelevanceParts): number {
  return Math.min(1, meaning + words);
}
