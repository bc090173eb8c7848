import type { SearchTable, SearchTables } from "../engine/search-table.ts";
import type { TableFormat } from "../engine/table-format.ts";
import type { IndexState, IndexStateModel } from "./index-state.ts";
import type { Match, SearchQuery } from "../engine/match.ts";

/** Searches an index that another process writes. */
export interface IndexReader<Document, Filter> {
  /** The encoder whose vectors the index has. @throws IndexUnavailableError */
  model(): Promise<string>;
  /** The layout of the index's rows. @throws IndexUnavailableError */
  format(): Promise<number>;
  /**
   * Finds the `limit` most relevant documents that pass the filter and answer the query, most relevant first.
   *
   * - The filter applies before the limit.
   * - Nothing beyond the limit is more relevant than the last match, as far as an approximate index can tell. A caller that
   *   ranks by more than relevance, such as trust in a seller, searches again with a higher limit until no document beyond it
   *   could still win.
   * - Fewer than `limit` matches means that there are no others.
   * @throws IndexUnavailableError
   */
  search(query: SearchQuery, filter: Filter, limit: number): Promise<Match<Document>[]>;
  /** The table that answers at the moment, for a caller that knows more about it. @throws IndexUnavailableError */
  open(): Promise<{ state: IndexState; table: SearchTable }>;
  /** How many documents it has. @throws IndexUnavailableError */
  count(): Promise<number>;
  /** How long ago the writer was last up to date, in milliseconds. @throws IndexUnavailableError */
  lagMs(): Promise<number>;
}

/** Thrown while the index can't be read. */
export class IndexUnavailableError extends Error {
  override readonly name = "IndexUnavailableError";
}

/** Dependencies of a reader. */
export interface IndexReaderDeps<Document extends { id: string }, Filter> {
  /** Name of the index. */
  name: string;
  states: IndexStateModel;
  tables: SearchTables;
  format: TableFormat<Document, Filter>;
  now: () => Date;
}

/** How long a process goes on with the table that it knows. A table that another has replaced stays for longer. */
const STATE_MAX_AGE_MS = 1_000;

/** Reads an index. It opens the table that the writer names, and the next one once the writer has built it. */
export function createIndexReader<Document extends { id: string }, Filter>(
  deps: IndexReaderDeps<Document, Filter>,
): IndexReader<Document, Filter> {
  const { name, states, tables, format, now } = deps;
  let known: { state: IndexState; readAt: number } | undefined;
  let opened: { name: string; table: Promise<SearchTable> } | undefined;

  async function current(): Promise<IndexState> {
    if (known !== undefined && performance.now() - known.readAt < STATE_MAX_AGE_MS) return known.state;
    const readAt = performance.now();
    const state = await states.findById(name).lean<IndexState | null>();
    if (state === null) throw new IndexUnavailableError(`The index ${name} hasn't been built yet`);
    known = { state, readAt };
    return state;
  }

  async function open({ table }: IndexState): Promise<SearchTable> {
    if (opened?.name !== table) opened = { name: table, table: tables.open(table) };
    try {
      return await opened.table;
    } catch (error) {
      opened = undefined;
      throw error;
    }
  }

  /** Reads the table. If that fails, the writer may have replaced it: the one that it names now gets a second chance. */
  async function read<Result>(work: (table: SearchTable) => Promise<Result>): Promise<Result> {
    const state = await current();
    try {
      return await work(await open(state));
    } catch {
      [known, opened] = [undefined, undefined];
      const latest = await current();
      try {
        return await work(await open(latest));
      } catch (error) {
        throw new IndexUnavailableError(`The index ${name} can't be read`, { cause: error });
      }
    }
  }

  return {
    model: async () => (await current()).model,
    format: async () => (await current()).format,
    search: (query, filter, limit) => read((table) => table.search(format, query, filter, limit)),
    async open() {
      const state = await current();
      try {
        return { state, table: await open(state) };
      } catch (error) {
        throw new IndexUnavailableError(`The index ${name} can't be read`, { cause: error });
      }
    },
    count: () => read((table) => table.count()),
    lagMs: async () => now().getTime() - (await current()).followedAt.getTime(),
  };
}
