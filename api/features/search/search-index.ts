import type { Encoding } from "./embedding/encoder.ts";

/** A query in the two forms that an engine compares: its words and its meaning. */
export interface SearchQuery {
  text: string;
  /** Null if the encoder doesn't understand the text, or gives no vector at the moment. Then the words alone decide. */
  encoding: Encoding | null;
}

/** A document that answers a query. */
export interface Match<Document> {
  document: Document;
  /** How well its text answers the query, 0 to 1: the sum of the parts, at most 1. */
  relevance: number;
  /** What meaning and matching words add to the relevance. Neither is negative. */
  parts: { meaning: number; words: number };
  /** The document's vector as it was put, for a caller that compares documents with each other. */
  vector: Float32Array | null;
}

/**
 * Searches documents by meaning and by words. An engine in another process can implement it: every call is
 * asynchronous, and a filter is data that the engine can translate to its own language.
 */
export interface SearchIndex<Document, Filter> {
  /** Adds or replaces a document. Without a vector, search finds it only by its words. */
  put(document: Document, vector: Float32Array | null): Promise<void>;
  remove(id: string): Promise<void>;
  count(): Promise<number>;
  /**
   * Finds the `limit` most relevant documents that pass the filter and answer the query, most relevant first. Among
   * equals the greater id comes first.
   *
   * - The filter applies before the limit.
   * - Nothing beyond the limit is more relevant than the last match, as far as an approximate index can tell. A caller that
   *   ranks by more than relevance, such as trust in a seller, searches again with a higher limit until no document beyond it
   *   could still win.
   * - Fewer than `limit` matches means that there are no others.
   * - The engine decides which documents answer a query. Without any, the array is empty.
   */
  search(query: SearchQuery, filter: Filter, limit: number): Promise<Match<Document>[]>;
}
