import type { Encoding } from "./encoder.ts";

/** A query in both forms that an engine compares: its words and its meaning. */
export interface SearchQuery {
  text: string;
  encoding: Encoding;
}

/** A document that answers a query. */
export interface Match<Document> {
  document: Document;
  /** How well it answers, 0 to 1, by its text alone. */
  relevance: number;
}

/**
 * Documents, searched by meaning and by words. An engine in another process fits behind it: every call is asynchronous,
 * and a filter is data that the engine can translate to its own language.
 */
export interface SearchIndex<Document, Filter> {
  /** Adds a document or replaces it. Without a vector it is found by its words alone. */
  put(document: Document, vector: Float32Array | null): Promise<void>;
  remove(id: string): Promise<void>;
  ids(): Promise<string[]>;
  count(): Promise<number>;
  /**
   * The `limit` most relevant of the documents that pass the filter and answer the query, most relevant first; of equal
   * ones the greater id comes first.
   *
   * - The filter applies before the limit: what it leaves out takes no place.
   * - Nothing beyond the limit is more relevant than the last match. A caller that ranks by more than relevance, such as
   *   trust in a seller, asks again with a greater limit until no document beyond it could still win.
   * - Fewer matches than `limit` means that there are no others.
   * - The engine decides which documents answer a query; a query that nothing answers gives an empty array.
   */
  search(query: SearchQuery, filter: Filter, limit: number): Promise<Match<Document>[]>;
}
