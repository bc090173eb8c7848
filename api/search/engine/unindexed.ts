import type { Encoding } from "../embedding/encoder.ts";
import { cosine } from "../embedding/vectors.ts";
import { searchTerm, splitWords } from "../embedding/words.ts";
import { createCoverage, foldedWords } from "./coverage.ts";
import type { Match } from "./match.ts";
import { EVEN_WORD_SCORE, computeRelevance, measureParts, sumOf } from "./relevance.ts";
import type { TableFormat } from "./table-format.ts";

/** The words that a query looks for, without those that say nothing, each once. */
export function wantedWords(query: string): string[] {
  return [...new Set(splitWords(query).filter((word) => searchTerm(word) !== null))];
}

/** A document compared with a query. */
export interface Comparison<Document> {
  /** With the relevance that it would have, if it doesn't answer the query. */
  match: Match<Document>;
  isAnswer: boolean;
}

/**
 * Compares documents that no index has with a query. Each matching word counts the same, because only an index knows how rare
 * it is.
 * @returns takes a document with its vector, null without one of the encoder's
 */
export function createComparer<Document extends { id: string }>(
  { searched, wordsOf: textOf }: Pick<TableFormat<Document, never>, "searched" | "wordsOf">,
  query: string,
  encoding: Encoding | null,
): (document: Document, vector: Float32Array | null) => Comparison<Document> {
  const coverage = createCoverage(splitWords(query).flatMap((word) => searchTerm(word) ?? []));
  return (document, vector) => {
    const closeness = vector === null || encoding === null ? 0 : cosine(encoding.vector, vector);
    const shared = { score: EVEN_WORD_SCORE, coverage: coverage(foldedWords(textOf(document))) };
    const relevant = computeRelevance(searched, encoding, closeness, shared);
    const parts = relevant ?? measureParts(searched, encoding, closeness, shared);
    return { match: { document, relevance: sumOf(parts), parts, vector }, isAnswer: relevant !== undefined };
  };
}

/**
 * As `createComparer`.
 * @returns gives undefined for a document that doesn't answer the query
 */
export function createMatcher<Document extends { id: string }>(
  format: Pick<TableFormat<Document, never>, "searched" | "wordsOf">,
  query: string,
  encoding: Encoding | null,
): (document: Document, vector: Float32Array | null) => Match<Document> | undefined {
  const compare = createComparer(format, query, encoding);
  return (document, vector) => {
    const { match, isAnswer } = compare(document, vector);
    return isAnswer ? match : undefined;
  };
}
