/** A value that an index can filter by. */
export type ColumnValue = string | number;

/** How documents are kept in a table of the engine, and found in it. */
export interface TableFormat<Document extends { id: string }, Filter> {
  /** The columns to filter by, by name: texts with few different values (choice) or many (key), or numbers. */
  columns: Readonly<Record<string, "choice" | "key" | "number">>;
  /** The values of those columns. */
  valuesOf(document: Document): Readonly<Record<string, ColumnValue>>;
  /** The text whose words are searched. What is in it twice counts twice. */
  wordsOf(document: Document): string;
  /**
   * A condition in SQL over the columns; undefined for a filter that excludes nothing, and null for one that no document can
   * pass. It may include a few documents more than the filter, because columns with numbers round.
   */
  conditionOf(filter: Filter): string | undefined | null;
  passes(document: Document, filter: Filter): boolean;
  serialize(document: Document): string;
  deserialize(text: string): Document;
}

/** A text as SQL. Only the quote has a meaning inside of one. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
