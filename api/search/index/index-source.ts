import type { ChangeStream, ChangeStreamDocument, Document as Record } from "mongodb";
import type { Connection } from "mongoose";

import type { SearchTable } from "../engine/search-table.ts";
import type { TableFormat } from "../engine/table-format.ts";
import type { IndexPosition } from "./index-state.ts";

/** A table that is being written. */
export interface TableInUse {
  name: string;
  table: SearchTable;
}

/** Where the documents of an index come from. Vectors of other models than the current one are ignored. */
export interface IndexSource<Changed extends Record> {
  /** Name of the index, and the start of its tables' names. */
  name: string;
  format: Pick<TableFormat<never, never>, "columns" | "version">;
  connection: Connection;
  /** The changes after a position. */
  watch(from: IndexPosition): ChangeStream<Changed, ChangeStreamDocument<Changed>>;
  /**
   * Adds all documents to a table that has none.
   * @param beforeWrite throws if this process may not write any more
   * @returns how many there are
   */
  load(target: TableInUse, beforeWrite: () => Promise<void>): Promise<number>;
  /** Writes what has changed. Writing it again, or late, does no harm. */
  apply(changes: readonly ChangeStreamDocument<Changed>[], target: TableInUse): Promise<void>;
  /** For how long a writer may be absent before changes are lost, in milliseconds; undefined if the stream itself tells. */
  mostAbsenceMs?: number;
  /** Forgets what is noted about a table before it is dropped. */
  forget?(table: string): Promise<void>;
}
