import type { Query, Table, VectorQuery } from "@lancedb/lancedb";

import type { StoredDocument } from "./search-table.ts";
import type { TableFormat } from "./table-format.ts";

/*
 * The engine is a native library of some hundred megabytes. It is loaded with the first table, so that a process that never
 * searches doesn't carry it.
 */
export const loadEngine = async () => await import("@lancedb/lancedb");
const loadArrow = async () => await import("apache-arrow");

const TIMEOUT_MS = 10_000;

/** Columns that every table has. */
export const COLUMNS = {
  id: "id",
  revision: "revision",
  words: "words",
  vector: "vector",
  document: "document",
} as const;

/** The columns of a table. @param dimensions length of the vectors */
export async function schemaOf({ columns }: Pick<TableFormat<never, never>, "columns">, dimensions: number) {
  const { Field, FixedSizeList, Float32, Float64, Int32, List, Schema, Utf8 } = await loadArrow();
  const types = {
    choice: () => new Utf8(),
    key: () => new Utf8(),
    number: () => new Float64(),
    labels: () => new List(new Field("item", new Utf8(), true)),
  };
  return new Schema([
    new Field(COLUMNS.id, new Utf8(), false),
    new Field(COLUMNS.revision, new Int32(), false),
    new Field(COLUMNS.words, new Utf8(), false),
    new Field(COLUMNS.vector, new FixedSizeList(dimensions, new Field("item", new Float32(), true)), true),
    ...Object.entries(columns).map(([name, kind]) => new Field(name, types[kind](), false)),
    new Field(COLUMNS.document, new Utf8(), false),
  ]);
}

/** The length of a table's vectors. */
export function dimensionsOf({ fields }: Awaited<ReturnType<Table["schema"]>>): number {
  const field = fields.find(({ name }) => name === COLUMNS.vector);
  return (field?.type as { listSize: number }).listSize;
}

/** Rows of documents in the form that the engine takes. */
export async function rowsOf<Document extends { id: string }>(
  table: Table,
  format: TableFormat<Document, never>,
  documents: readonly StoredDocument<Document>[],
) {
  const { makeArrowTable } = await loadEngine();
  const schema = await table.schema();
  const dimensions = dimensionsOf(schema);
  const rows = documents.map(({ document, revision, vector }) => ({
    ...format.valuesOf(document),
    [COLUMNS.id]: document.id,
    [COLUMNS.revision]: revision,
    [COLUMNS.words]: format.wordsOf(document),
    // One of another length can't be stored. Its document is found by its words.
    [COLUMNS.vector]: vector?.length === dimensions ? vector : null,
    [COLUMNS.document]: format.serialize(document),
  }));
  return makeArrowTable(rows, { schema });
}

/** A row that a search has found. */
export interface FoundRow {
  /** The row's own id, which the engine gives for nothing. */
  id: bigint;
  /** BM25; undefined in a search by meaning. */
  score: number | undefined;
}

/** The ids of the rows that a query finds. It reads column by column: the object that Arrow makes for a row looks each field up again. */
export async function foundRows(query: Query | VectorQuery): Promise<FoundRow[]> {
  const { batches } = await query.withRowId().toArrow({ timeoutMs: TIMEOUT_MS });
  return batches.flatMap((batch) => {
    const [ids, scores] = ["_rowid", "_score"].map((name) => batch.getChild(name));
    return Array.from({ length: batch.numRows }, (_, row) => ({
      id: ids?.get(row) as bigint,
      score: scores?.get(row) as number | undefined,
    }));
  });
}

/** What a table stores in a row. */
export interface StoredRow {
  id: bigint;
  document: string;
  vector: Float32Array | null;
}

/** The rows with these ids that are still there. */
export async function storedRows(table: Table, ids: readonly bigint[]): Promise<StoredRow[]> {
  const query = table.takeRowIds(ids).select([COLUMNS.document, COLUMNS.vector]).withRowId();
  const { batches } = await query.toArrow({ timeoutMs: TIMEOUT_MS });
  return batches.flatMap((batch) => {
    const [found, documents, vectors] = ["_rowid", COLUMNS.document, COLUMNS.vector].map((name) =>
      batch.getChild(name),
    );
    const numbers = vectors?.getChildAt(0)?.toArray() as Float32Array;
    const length = numbers.length / batch.numRows;
    return Array.from({ length: batch.numRows }, (_, row) => ({
      id: found?.get(row) as bigint,
      document: documents?.get(row) as string,
      // A copy: a part of the batch would keep all of it in memory.
      vector: vectors?.isValid(row) === true ? numbers.slice(row * length, (row + 1) * length) : null,
    }));
  });
}
