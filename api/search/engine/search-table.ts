import type { Found, Match, SearchQuery } from "./match.ts";
import type { ColumnValue, TableFormat } from "./table-format.ts";

/** A document with what search needs to know about it. */
export interface StoredDocument<Document> {
  document: Document;
  /** Rises with every change. A write never replaces a newer revision. */
  revision: number;
  /** Null until the text is embedded. */
  vector: Float32Array | null;
  /** Values of columns that the document doesn't say, or says otherwise. */
  values?: Readonly<Record<string, ColumnValue>>;
}

/** A document that no longer belongs into the index, and the revision at which it left. */
export interface RemovedDocument {
  id: string;
  /** Undefined for a document that no longer exists. */
  revision: number | undefined;
}

/** How a search goes about it. */
export interface SearchOptions {
  /** Compares every vector that passes the filter: exact, and faster than the vectors' index if those are a few thousand. */
  isExact?: boolean;
  /**
   * Counts first what passes the filter, because that may be nothing. Of 200,000 listings, counting took 1 ms of processor time, and a
   * search that found nothing 20.
   */
  isNarrow?: boolean;
}

/** A search of a table. */
export interface TableSearch<Document extends { id: string }, Filter> extends SearchOptions {
  format: TableFormat<Document, Filter>;
  query: SearchQuery;
  filter: Filter;
  /** Maximum number of candidates by meaning, and by words. */
  limit: number;
}

/** A table of documents, whatever engine has it. */
export interface SearchTable {
  /**
   * Finds documents by meaning and by words, `limit` each, and has them read by the caller, as far as it needs them.
   * @param work is called again if a row was replaced or moved before it was read
   */
  find<Document extends { id: string }, Filter, Result>(
    search: TableSearch<Document, Filter>,
    work: (found: Found<Document>) => Promise<Result>,
  ): Promise<Result>;
  /**
   * The same, for the most relevant of all that were found: `limit`, or as many as `answers` says. A document that is far down in both
   * could be more relevant than the last one returned; with hundreds of candidates that doesn't matter.
   */
  search<Document extends { id: string }, Filter>(
    format: TableFormat<Document, Filter>,
    query: SearchQuery,
    filter: Filter,
    limit: number,
    options?: SearchOptions & { answers?: number },
  ): Promise<Match<Document>[]>;
  /** Adds documents to a table that has none of them. */
  add<Document extends { id: string }>(
    format: TableFormat<Document, never>,
    documents: readonly StoredDocument<Document>[],
  ): Promise<void>;
  /**
   * Adds, replaces and removes documents. A document's newer revision is never replaced, so writing the same changes again, or
   * late, does no harm.
   */
  apply<Document extends { id: string }>(
    format: TableFormat<Document, never>,
    put: readonly StoredDocument<Document>[],
    removed: readonly RemovedDocument[],
  ): Promise<void>;
  /**
   * Sets columns of rows, whatever their revision.
   * @param condition which rows, in SQL. What passes must not pass any more afterwards, so that writing again does nothing.
   * @param values by column, in SQL
   */
  setValues(condition: string, values: Readonly<Record<string, string>>): Promise<void>;
  /** Merges what many small writes have left behind, brings the indexes up to date and removes old versions. */
  tidy(): Promise<void>;
  /**
   * How many vectors are to be indexed now; 0 if the present index will do. An index is divided into parts by what was there when it was
   * made. Later vectors are added to them, so a table that has grown many times over gets a new one, and so does one with many additions.
   * @param indexed how many vectors the present index was made from, 0 without one
   * @param from how many documents a table needs for an index
   */
  vectorsToIndex(indexed: number, from?: number): Promise<number>;
  /** Indexes the vectors. That takes minutes for a million documents, in which the table can be read and written. */
  indexVectors(): Promise<void>;
  count(): Promise<number>;
  /** A number that rises with every write. */
  version(): Promise<number>;
  /** Reads what others have written at once, instead of a moment later. */
  refresh(): Promise<void>;
}

/** Tables of documents at an address: a folder, or a prefix of an object store such as `s3://bucket/prefix`. */
export interface SearchTables {
  names(): Promise<string[]>;
  open(name: string): Promise<SearchTable>;
  /** Creates a table with its indexes and no documents. @param dimensions length of the vectors */
  create(name: string, format: Pick<TableFormat<never, never>, "columns">, dimensions: number): Promise<SearchTable>;
  drop(name: string): Promise<void>;
}
