import type { Searched } from "./relevance.ts";

/** A value that an index can filter by. */
export type ColumnValue = string | number | readonly string[];

/**
 * Texts with few different values (choice) or many (key), numbers, or lists of texts. A search for numbers that aren't indexed reads
 * all of them.
 */
export type ColumnKind = "choice" | "key" | "number" | "unindexed number" | "labels";

/** How documents are kept in a table of the engine, and found in it. */
export interface TableFormat<Document extends { id: string }, Filter> {
  /** Raise it when rows are laid out or texts are read in another way. An index of another version is built again. */
  version: number;
  /** Decides how close a document must be to a query, and what shared words add. */
  searched: Searched;
  /** The columns to filter by, by name. */
  columns: Readonly<Record<string, ColumnKind>>;
  /**
   * The column of a number that a caller multiplies relevance with, at most. It is known before a document is read, so that documents
   * that can't win need no reading.
   */
  factor?: string;
  /** The values of those columns, as far as the document says them. */
  toValues(document: Document): Readonly<Record<string, ColumnValue>>;
  /** The text whose words are searched. What is in it twice counts twice. */
  wordsOf(document: Document): string;
  /**
   * The weight of a word that query and document share: higher for rarer words, or the same for all. If the documents have
   * several owners, rarity would reveal to one what the others' documents contain.
   */
  wordScore: "rarity" | "same";
  /**
   * A condition in SQL over the columns; undefined for a filter that excludes nothing, and null for one that no document can
   * pass. It may include a few documents more than the filter, because columns with numbers round.
   */
  toCondition(filter: Filter): string | undefined | null;
  passes(document: Document, filter: Filter): boolean;
  serialize(document: Document): string;
  deserialize(text: string): Document;
}

/** A text as SQL. Only the quote has a meaning inside of one. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
