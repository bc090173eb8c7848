import type { Encoding } from "../embedding/encoder.ts";

/** A query in the two forms that are compared: its words and its meaning. */
export interface SearchQuery {
  text: string;
  /**
   * Null if the encoder doesn't understand the text, or gives no vector at the moment. Then the words alone decide. While it is
   * being encoded, its words are searched.
   */
  encoding: Encoding | null | Promise<Encoding | null>;
}

/** A document that answers a query. */
export interface Match<Document> {
  document: Document;
  /** How well its text answers the query, 0 to 1: the sum of the parts, at most 1. */
  relevance: number;
  /** The shares of meaning and matching words in the relevance. Neither is negative. */
  parts: { meaning: number; words: number };
  /** The document's vector as it was put, for a caller that compares documents with each other. */
  vector: Float32Array | null;
}

/** The order of matches: the most relevant first, and among equals the greater id. */
export function byRelevance<Document extends { id: string }>(left: Match<Document>, right: Match<Document>): number {
  return right.relevance - left.relevance || (right.document.id < left.document.id ? -1 : 1);
}

/** A document that a search has found and not read. */
export interface Candidate {
  /** The row's id. */
  id: bigint;
  /** It has no more relevance. */
  relevance: number;
  /** What the format's `factor` column says of it; 1 without one. */
  factor: number;
}

/** What a search has found. */
export interface Found<Document> {
  candidates: readonly Candidate[];
  /** Upper bound for the relevance of every other document that passes the filter; 0 if there is none. The index is approximate. */
  beyond: number;
  /** Reads candidates. Those that pass the filter and answer the query are matches, in no order. */
  read: (candidates: readonly Candidate[]) => Promise<Match<Document>[]>;
}
