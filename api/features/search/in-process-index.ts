import MiniSearch from "minisearch";

import { NO_WORDS, relevanceOf, sumOf } from "./engine/relevance.ts";
import type { WordMatch } from "./engine/relevance.ts";
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
    count: () => Promise.resolve(entries.size),
    search({ text, encoding }, filter, limit) {
      const wordMatches = matchWords(words, text);
      const matches: Match<Document>[] = [];
      for (const { document, vector } of entries.values()) {
        if (!options.passes(document, filter)) continue;
        const closeness = vector === null || encoding === null ? 0 : cosine(encoding.vector, vector);
        const parts = relevanceOf(encoding, closeness, wordMatches.get(document.id) ?? NO_WORDS);
        if (parts !== undefined) matches.push({ document, relevance: sumOf(parts), parts, vector });
      }
      return Promise.resolve(matches.sort(byRelevance).slice(0, limit));
    },
  };
}

function byRelevance<Document extends { id: string }>(left: Match<Document>, right: Match<Document>): number {
  return right.relevance - left.relevance || (right.document.id < left.document.id ? -1 : 1);
}

/** How the words of each document match that shares one. */
function matchWords(words: MiniSearch, query: string): Map<string, WordMatch> {
  const terms = new Set(wordsOf(query).flatMap((word) => searchTerm(word) ?? []));
  if (terms.size === 0) return new Map();
  return new Map(
    words
      .search(query)
      .map(({ id, score, queryTerms }) => [String(id), { score, coverage: new Set(queryTerms).size / terms.size }]),
  );
}
