import type { Table } from "@lancedb/lancedb";

import { COLUMNS, dimensionsOf, toRows } from "./lance-rows.ts";
import type { RemovedDocument, StoredDocument } from "./search-table.ts";
import { quoted } from "./table-format.ts";
import type { TableFormat } from "./table-format.ts";
import { VECTOR_INDEX, vectorIndexConfig, chooseVectorIndex } from "./vector-index.ts";

/**
 * Minimum row count for the vector index. Below it, all vectors are compared, which is exact. At 2,000 that takes 5 ms of processor
 * time, and with an index 2; at 10,000 it takes 40 and 3. The index had all of the 50 nearest among 200, and 0.98 of the 200 nearest.
 */
export const INDEXED_FROM = 2_000;
/**
 * Number of vectors, and share of the rows, from which a larger table gets its index: after a change of the encoder's model, its rows
 * get their vectors one after the other. The engine needs as many as the index has parts, of about 4,000 rows each.
 */
const LEAST_VECTORS = 1_000;
const LEAST_VECTOR_SHARE = 0.001;
/** Growth factor of a table after which its vectors are indexed again. */
const OUTGROWN = 4;
/** The engine evaluates a chain of conditions recursively. */
const REMOVED_AT_ONCE = 50;
/**
 * Maximum number of additions before the vectors are indexed again, which takes as long as the first time. Each tidying
 * makes one addition to the index, and every search reads them all. With a million vectors, searches took twice as long
 * after 45 additions.
 */
const MOST_ADDITIONS = 8;
/** For how long versions of a table are kept for searches that still read them. */
const KEPT_MS = 60_000;

/** Adds documents. */
export async function addAll<Document extends { id: string }>(
  table: Table,
  format: TableFormat<Document, never>,
  documents: readonly StoredDocument<Document>[],
): Promise<void> {
  if (documents.length > 0) await table.add(await toRows(table, format, documents));
}

/** Adds, replaces and removes documents, none of a newer revision. */
export async function applyAll<Document extends { id: string }>(
  table: Table,
  format: TableFormat<Document, never>,
  put: readonly StoredDocument<Document>[],
  removed: readonly RemovedDocument[],
): Promise<void> {
  if (put.length > 0) {
    await table
      .mergeInsert(COLUMNS.id)
      .whenMatchedUpdateAll({ where: `target.${COLUMNS.revision} <= source.${COLUMNS.revision}` })
      .whenNotMatchedInsertAll()
      .execute(await toRows(table, format, put));
  }
  for (let start = 0; start < removed.length; start += REMOVED_AT_ONCE) {
    const conditions = removed
      .slice(start, start + REMOVED_AT_ONCE)
      .map(({ id, revision }) =>
        revision === undefined
          ? `${COLUMNS.id} = ${quoted(id)}`
          : `(${COLUMNS.id} = ${quoted(id)} AND ${COLUMNS.revision} <= ${revision})`,
      );
    await table.delete(conditions.join(" OR "));
  }
}

/** Sets columns of the rows that pass a condition. */
export async function setValues(
  table: Table,
  condition: string,
  valuesSql: Readonly<Record<string, string>>,
): Promise<void> {
  // An update that changes nothing would be a new version all the same.
  if ((await table.countRows(condition)) > 0) await table.update({ where: condition, valuesSql });
}

/** Tidies a table. Versions that searches may still read are kept. */
export async function tidy(table: Table): Promise<void> {
  await table.optimize({ cleanupOlderThan: new Date(Date.now() - KEPT_MS) });
}

/** How many vectors are to be indexed now, see `SearchTable`. */
export async function vectorsToIndex(table: Table, indexed: number, from = INDEXED_FROM): Promise<number> {
  const rows = await table.countRows();
  if (rows < from) return 0;
  const { numIndices = 1 } = (await table.indexStats(VECTOR_INDEX)) ?? {};
  const isWorn = numIndices - 1 > MOST_ADDITIONS;
  if (!isWorn && rows < indexed * OUTGROWN) return 0;
  // Documents may wait for their vectors.
  const vectors = await table.countRows(COLUMNS.embedded);
  const least = Math.min(from, Math.max(LEAST_VECTORS, rows * LEAST_VECTOR_SHARE));
  return vectors >= least && (isWorn || vectors >= indexed * OUTGROWN) ? vectors : 0;
}

/** Indexes the vectors of a table. */
export async function indexVectors(table: Table): Promise<void> {
  const config = await vectorIndexConfig(chooseVectorIndex(dimensionsOf(await table.schema())));
  await table.createIndex(COLUMNS.vector, { name: VECTOR_INDEX, config });
}
