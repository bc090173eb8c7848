import MiniSearch from "minisearch";

import { categoryWords } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import type { Encoding } from "./encoder.ts";
import { cosine } from "./vectors.ts";
import { searchTerm, wordsOf } from "./words.ts";

/** A listing that answers a query. */
export interface Match {
  listing: Listing;
  /** How well it answers, 0 to 1, whoever the seller is. */
  relevance: number;
}

/** The active listings in memory, searched by meaning and by words. */
export interface SearchIndex {
  readonly size: number;
  /** Adds a listing or replaces it. Without a vector it is found by its words alone. */
  put(listing: Listing, vector: Float32Array | null): void;
  remove(id: string): void;
  ids(): string[];
  /** Every listing that passes the filter and answers the query, in no order. */
  match(query: string, encoding: Encoding, isWanted: (listing: Listing) => boolean): Match[];
}

/*
 * The numbers below were set on the first query of each case in test/fixtures/relevance.ts; the test measures the second
 * ones, which took no part in it.
 */

/** Cosine from which on a listing counts as an answer. Unrelated English sentences stay below it. */
const LEAST_COSINE = 0.28;
/** The same for a query of words that the encoder knows by their syllables alone: gibberish stays below it. */
const LEAST_COSINE_OF_UNKNOWN_WORDS = 0.42;
const LEAST_KNOWN_WORD_SHARE = 0.3;
/** Share of a query's words that a listing must contain to count as an answer whatever its meaning. */
const LEAST_WORD_COVERAGE = 0.5;
/** What matching words add to the cosine at most. */
const WORD_WEIGHT = 0.25;
/** Word score (BM25) that gives half of that. */
const HALF_WORD_SCORE = 10;
const TITLE_BOOST = 2;

interface Entry {
  listing: Listing;
  vector: Float32Array | null;
}

/** An index that is kept up to date by whoever knows of changes. */
export function createSearchIndex(): SearchIndex {
  const entries = new Map<string, Entry>();
  const words = new MiniSearch<{ id: string; title: string; description: string; category: string }>({
    fields: ["title", "description", "category"],
    tokenize: wordsOf,
    processTerm: searchTerm,
    searchOptions: { boost: { title: TITLE_BOOST }, combineWith: "OR" },
  });

  function remove(id: string): void {
    if (!entries.delete(id)) return;
    words.discard(id);
  }

  return {
    get size() {
      return entries.size;
    },
    put(listing, vector) {
      remove(listing.id);
      const { id, title, description, category } = listing;
      entries.set(id, { listing, vector });
      words.add({ id, title, description, category: categoryWords(category) });
    },
    remove,
    ids: () => [...entries.keys()],
    match(query, encoding, isWanted) {
      const wordScores = scoreWords(words, query);
      const isKnown = encoding.knownWordShare >= LEAST_KNOWN_WORD_SHARE;
      const leastCosine = isKnown ? LEAST_COSINE : LEAST_COSINE_OF_UNKNOWN_WORDS;
      const matches: Match[] = [];
      for (const { listing, vector } of entries.values()) {
        if (!isWanted(listing)) continue;
        const closeness = vector === null ? 0 : Math.max(0, cosine(encoding.vector, vector));
        const { score = 0, coverage = 0 } = wordScores.get(listing.id) ?? {};
        if (closeness < leastCosine && coverage < LEAST_WORD_COVERAGE) continue;
        matches.push({ listing, relevance: Math.min(1, closeness + WORD_WEIGHT * score) });
      }
      return matches;
    },
  };
}

/** For each listing that shares a word: BM25 brought to 0..1, and the share of the query's words that it contains. */
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
