import type { Table } from "@lancedb/lancedb";

import { knownRows } from "./known-rows.ts";
import { WHOLE_UP_TO, findInTable, searchTable } from "./lance-search.ts";
import { addAll, applyAll, indexVectors, setValues, tidy, vectorsToIndex } from "./lance-writes.ts";
import type { SearchTable } from "./search-table.ts";

/** A table of LanceDB. */
export function lanceTable(table: Table): SearchTable {
  const source = { table, rows: knownRows(table), wholeUpTo: WHOLE_UP_TO };
  return {
    find: (search, work) => findInTable(source, search, work),
    search: (format, query, filter, limit, options) =>
      searchTable(source, { format, query, filter, limit, answers: limit, ...options }),
    add: (format, documents) => addAll(table, format, documents),
    apply: (format, put, removed) => applyAll(table, format, put, removed),
    setValues: (condition, values) => setValues(table, condition, values),
    tidy: () => tidy(table),
    vectorsToIndex: (indexed, from) => vectorsToIndex(table, indexed, from),
    indexVectors: () => indexVectors(table),
    count: () => table.countRows(),
    version: () => table.version(),
    refresh: () => table.checkoutLatest(),
  };
}
