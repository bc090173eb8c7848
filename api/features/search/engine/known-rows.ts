import type { Table } from "@lancedb/lancedb";
import { LRUCache } from "lru-cache";

import { foldedWords } from "./coverage.ts";
import { storedRows } from "./lance-rows.ts";
import type { StoredRow } from "./lance-rows.ts";
import type { TableFormat } from "./table-format.ts";

/** A row that was read. */
export interface KnownRow<Document> {
  /** Parsed when it is first asked for. Nobody may change it: later searches get the same one. */
  document: () => Document;
  /** The document's words, see `foldedWords`. */
  words: () => string;
  vector: Float32Array | null;
}

/** Reads rows by their ids, and remembers those that were asked for last. */
export interface KnownRows {
  /** A row that isn't there any more is missing from the result. */
  read: <Document extends { id: string }>(
    format: TableFormat<Document, never>,
    ids: readonly bigint[],
  ) => Promise<Map<bigint, KnownRow<Document>>>;
}

/** What the remembered rows of a table may take in memory, as far as that can be estimated. */
const MOST_BYTES = 64_000_000;
/** A document takes about four times its text, parsed and with its words, and a row something of its own. */
const BYTES_PER_CHARACTER = 4;
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

  return {
    async read<Document extends { id: string }>(format: TableFormat<Document, never>, ids: readonly bigint[]) {
      const remembered = rememberedOf(format);
      const rows = new Map<bigint, KnownRow<Document>>();
      const unknown: bigint[] = [];
      for (const id of ids) {
        const row = remembered.get(id);
        if (row === undefined) unknown.push(id);
        else rows.set(id, row);
      }
      if (unknown.length === 0) return rows;
      for (const stored of await storedRows(table, unknown)) {
        const row = knownRow(format, stored);
        rows.set(stored.id, row);
        remembered.set(stored.id, row, { size: sizeOf(stored) });
      }
      return rows;
    },
  };
}

function knownRow<Document extends { id: string }>(
  format: TableFormat<Document, never>,
  { document: serialized, vector }: StoredRow,
): KnownRow<Document> {
  const document = once(() => format.deserialize(serialized));
  return { document, words: once(() => foldedWords(format.wordsOf(document()))), vector };
}

/** Calls a function once, keeps its result, and lets go of the function. */
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
