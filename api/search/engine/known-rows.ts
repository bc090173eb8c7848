import type { Table } from "@lancedb/lancedb";
import { LRUCache } from "lru-cache";

import { foldedWords } from "./coverage.ts";
import { takeRows } from "./lance-rows.ts";
import type { StoredRow } from "./lance-rows.ts";
import type { TableFormat } from "./table-format.ts";

/** A row that a search has found. */
export interface KnownRow<Document> {
  /** Parsed on first access. Shared between searches; do not modify. */
  document: () => Document;
  /** The document's words, see `foldedWords`. */
  words: () => string;
  vector: Float32Array | null;
}

/** Reads rows that queries have found. */
export interface KnownRows {
  /** By the row's id. A row that was replaced, moved or removed since it was found is missing. */
  read: <Document extends { id: string }>(
    format: TableFormat<Document, never>,
    ids: readonly bigint[],
  ) => Promise<Map<bigint, KnownRow<Document>>>;
}

/** Maximum memory of the rows that are remembered, in bytes, as an estimate: those of about 14,000 listings. */
const MOST_BYTES = 128_000_000;
/** A listing takes 2.8 times its text, parsed and with its words, and its row something of its own. */
const BYTES_PER_CHARACTER = 3;
const BYTES_PER_ROW = 500;

/**
 * The rows of a table. The engine never changes a row in place: it writes a new one and removes the old one, and moves rows to
 * new ids when it merges files. So what is known of an id is true for as long as the table exists.
 */
export function knownRows(table: Table, mostBytes = MOST_BYTES): KnownRows {
  /** By format, which has parsed the documents. */
  const known = new Map<unknown, LRUCache<bigint, KnownRow<unknown>>>();

  function rememberedOf<Document extends { id: string }>(format: TableFormat<Document, never>) {
    const remembered = known.get(format) ?? new LRUCache<bigint, KnownRow<unknown>>({ maxSize: mostBytes });
    known.set(format, remembered);
    return remembered as LRUCache<bigint, KnownRow<Document>>;
  }

  async function read<Document extends { id: string }>(format: TableFormat<Document, never>, ids: readonly bigint[]) {
    const remembered = rememberedOf(format);
    const rows = new Map<bigint, KnownRow<Document>>();
    const unknown: bigint[] = [];
    for (const id of ids) {
      const row = remembered.get(id);
      if (row === undefined) unknown.push(id);
      else rows.set(id, row);
    }
    if (unknown.length === 0) return rows;
    for (const stored of await takeRows(table, unknown)) {
      const row = knownRow(format, stored);
      rows.set(stored.id, row);
      remembered.set(stored.id, row, { size: sizeOf(stored) });
    }
    return rows;
  }

  return { read };
}

function knownRow<Document extends { id: string }>(
  format: TableFormat<Document, never>,
  { document: serialized, vector }: StoredRow,
): KnownRow<Document> {
  const document = once(() => format.deserialize(serialized));
  return { document, words: once(() => foldedWords(format.wordsOf(document()))), vector };
}

/** Calls a function once, keeps its result and releases the function. */
function once<Result>(compute: () => Result): () => Result {
  let pending: (() => Result) | undefined = compute;
  let result: Result | undefined;
  return () => {
    if (pending !== undefined) [result, pending] = [pending(), undefined];
    return result as Result;
  };
}

function sizeOf({ document, vector }: StoredRow): number {
  return document.length * BYTES_PER_CHARACTER + (vector?.byteLength ?? 0) + BYTES_PER_ROW;
}
