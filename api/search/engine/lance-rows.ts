import type { Query, Table, TakeQuery, VectorQuery } from "@lancedb/lancedb";
import type { RecordBatch } from "apache-arrow";

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
  /** Whether the row has a vector. Vectors are large, and a search of a table that lacks most of them would read all the same. */
  embedded: "embedded",
  document: "document",
} as const;

/** The columns of a table. @param dimensions length of the vectors */
export async function buildSchema({ columns }: Pick<TableFormat<never, never>, "columns">, dimensions: number) {
  const { Bool, Field, FixedSizeList, Float32, Float64, Int32, List, Schema, Utf8 } = await loadArrow();
  const types = {
    choice: () => new Utf8(),
    key: () => new Utf8(),
    number: () => new Float64(),
    "unindexed number": () => new Float64(),
    labels: () => new List(new Field("item", new Utf8(), true)),
  };
  return new Schema([
    new Field(COLUMNS.id, new Utf8(), false),
    new Field(COLUMNS.revision, new Int32(), false),
    new Field(COLUMNS.words, new Utf8(), false),
    new Field(COLUMNS.vector, new FixedSizeList(dimensions, new Field("item", new Float32(), true)), true),
    new Field(COLUMNS.embedded, new Bool(), false),
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
export async function toRows<Document extends { id: string }>(
  table: Table,
  format: TableFormat<Document, never>,
  documents: readonly StoredDocument<Document>[],
) {
  const { makeArrowTable } = await loadEngine();
  const schema = await table.schema();
  const dimensions = dimensionsOf(schema);
  const rows = documents.map(({ document, revision, vector, values }) => {
    // One of another length can't be stored. Its document is found by its words.
    const isEmbedded = vector?.length === dimensions;
    return {
      ...format.toValues(document),
      ...values,
      [COLUMNS.id]: document.id,
      [COLUMNS.revision]: revision,
      [COLUMNS.words]: format.wordsOf(document),
      [COLUMNS.vector]: isEmbedded ? vector : null,
      [COLUMNS.embedded]: isEmbedded,
      [COLUMNS.document]: format.serialize(document),
    };
  });
  return makeArrowTable(rows, { schema });
}

/** The column that the engine adds to found rows: the vector distance, or the BM25 score. */
export type Measure = "_distance" | "_score";

/** A row as a table stores it. */
export interface StoredRow {
  /** The row's own id. The engine gives it for nothing, while the document's costs as much as any other column. */
  id: bigint;
  document: string;
  vector: Float32Array | null;
}

/** A row that a query has found, unread. */
export interface FoundRow {
  id: bigint;
  /** The vector distance, or the BM25 score. */
  measure: number;
  /** The row's value in the column that was asked for. */
  value: number;
}

/**
 * The rows that a query finds, best first.
 * @param column a column of numbers to read with them, which costs next to nothing; 1 for each row without one
 */
export async function findRows(
  query: Query | VectorQuery,
  measure: Measure,
  column: string | undefined,
): Promise<FoundRow[]> {
  const batches = await readBatches(query.select([measure, column ?? []].flat()));
  return batches.flatMap((batch) => {
    const measures = batch.getChild(measure);
    const values = column === undefined ? null : batch.getChild(column);
    return idsOf(batch).map((id, row) => ({
      id,
      measure: measures?.get(row) as number,
      value: values === null ? 1 : (values.get(row) as number),
    }));
  });
}

/** The rows with these ids that are still there. The vectors are copies: a part of a batch would keep all of it in memory. */
export async function takeRows(table: Table, ids: readonly bigint[]): Promise<StoredRow[]> {
  const batches = await readBatches(table.takeRowIds(ids).select([COLUMNS.document, COLUMNS.vector]));
  return batches.flatMap(toStoredRows).map((row) => ({ ...row, vector: row.vector?.slice() ?? null }));
}

async function readBatches(query: Query | VectorQuery | TakeQuery): Promise<RecordBatch[]> {
  return (await query.withRowId().toArrow({ timeoutMs: TIMEOUT_MS })).batches;
}

function idsOf(batch: RecordBatch): bigint[] {
  const ids = batch.getChild("_rowid");
  return Array.from({ length: batch.numRows }, (_, row) => ids?.get(row) as bigint);
}

/** Column by column: the object that Arrow makes for a row looks each field up again. */
function toStoredRows(batch: RecordBatch): StoredRow[] {
  const documents = batch.getChild(COLUMNS.document);
  const vectors = batch.getChild(COLUMNS.vector);
  const numbers = vectors?.getChildAt(0)?.toArray() as Float32Array;
  const length = numbers.length / batch.numRows;
  return idsOf(batch).map((id, row) => ({
    id,
    document: documents?.get(row) as string,
    vector: vectors?.isValid(row) === true ? numbers.subarray(row * length, (row + 1) * length) : null,
  }));
}
