import MiniSearch from "minisearch";

import type { Match, SearchIndex } from "./search-index.ts";
import { cosine } from "./embedding/vectors.ts";
import { searchTerm, wordsOf } from "./embedding/words.ts";

/** What the index needs to know about its documents. */
export interface InProcessIndexOptions<Document, Filter> {
  /** The texts to index, by name. */
  textsOf(document: Document): Readonly<Record<string, string>>;
  /** The weight of each text's words, by the text's name. */
  weights: Readonly<Record<string, number>>;
  passes(document: Document, filter: Filter): boolean;
}

/*
 * The numbers below were tuned on the first query of each case in test/fixtures/relevance.ts. The test measures with
 * the second queries, which weren't used for tuning.
 */

/** Minimum cosine of a document that answers a query. Unrelated English sentences stay below it. */
const LEAST_COSINE = 0.28;
/** The same for a query whose words the encoder knows only by their syllables. Gibberish stays below it. */
const LEAST_COSINE_OF_UNKNOWN_WORDS = 0.42;
const LEAST_KNOWN_WORD_SHARE = 0.3;
/** Share of a query's words that makes a document an answer regardless of its meaning. */
const LEAST_WORD_COVERAGE = 0.5;
/**
 * Maximum that matching words add to the cosine. They add it by the share of the query's words that match: a single rare one
 * otherwise counts more than the meaning of all. Chosen with the tuning half of test/bench/discovery.
 */
const WORD_WEIGHT = 0.25;
/** Word score (BM25) that adds half of that. */
const HALF_WORD_SCORE = 10;

/** An index in this process's memory. Each search compares every document that passes the filter. */
export function createInProcessIndex<Document extends { id: string }, Filter>(
  options: InProcessIndexOptions<Document, Filter>,
): SearchIndex<Document, Filter> {
  const entries = new Map<string, { document: Document; vector: Float32Array | null }>();
  const words = new MiniSearch<Record<string, string>>({
    fields: Object.keys(options.weights),
    tokenize: wordsOf,
    processTerm: searchTerm,
    searchOptions: { boost: { ...options.weights }, combineWith: "OR" },
  });

  function remove(id: string): void {
    if (entries.delete(id)) words.discard(id);
  }

  return {
    put(document, vector) {
      remove(document.id);
      entries.set(document.id, { document, vector });
      words.add({ id: document.id, ...options.textsOf(document) });
      return Promise.resolve();
    },
    remove(id) {
      remove(id);
      return Promise.resolve();
    },
    ids: () => Promise.resolve([...entries.keys()]),
    count: () => Promise.resolve(entries.size),
    search({ text, encoding }, filter, limit) {
      const wordScores = scoreWords(words, text);
      const isKnown = encoding !== null && encoding.knownWordShare >= LEAST_KNOWN_WORD_SHARE;
      const leastCosine = isKnown ? LEAST_COSINE : LEAST_COSINE_OF_UNKNOWN_WORDS;
      const matches: Match<Document>[] = [];
      for (const { document, vector } of entries.values()) {
        if (!options.passes(document, filter)) continue;
        const meaning = vector === null || encoding === null ? 0 : Math.max(0, cosine(encoding.vector, vector));
        const { score = 0, coverage = 0 } = wordScores.get(document.id) ?? {};
        if (meaning < leastCosine && coverage < LEAST_WORD_COVERAGE) continue;
        const parts = { meaning, words: WORD_WEIGHT * coverage * score };
        matches.push({ document, relevance: Math.min(1, meaning + parts.words), parts, vector });
      }
      return Promise.resolve(matches.sort(byRelevance).slice(0, limit));
    },
  };
}

function byRelevance<Document extends { id: string }>(left: Match<Document>, right: Match<Document>): number {
  return right.relevance - left.relevance || (right.document.id < left.document.id ? -1 : 1);
}

/** For each document that shares a word: BM25 scaled to 0..1, and the share of the query's words that it contains. */
function scoreWords(words: MiniSearch, query: string): Map<string, { score: number; coverage: number }> {
  const terms = new Set(wordsOf(query).flatMap((word) => searchTerm(word) ?? []));
  if (terms.size === 0) return new Map();
  return new Map(
    words
      .search(query)
      .map(({ id, score, queryTerms }) => [
        String(id),
        { score: score / (score + HALF_WORD_SCORE), coverage: new Set(queryTerms).size / terms.size },
      ]),
  );
}
