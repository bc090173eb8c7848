import type { Found, SearchQuery } from "../engine/match.ts";
import type { SearchOptions, SearchTable, SearchTables } from "../engine/search-table.ts";
import type { TableFormat } from "../engine/table-format.ts";
import type { IndexState, IndexStateModel } from "./index-state.ts";

/** Thrown while the index can't be read. */
export class IndexUnavailableError extends Error {
  override readonly name = "IndexUnavailableError";
}

/** How long a process goes on with the table that it knows. */
const STATE_MAX_AGE_MS = 1_000;

/**
 * Reads an index that another process writes. It opens the table that the writer names, and the next one once the writer has built
 * it. An index of another format or model can't be read. Each method throws IndexUnavailableError.
 */
export class IndexReader<Document extends { id: string }, Filter> {
  readonly #name: string;
  readonly #states: IndexStateModel;
  readonly #tables: SearchTables;
  readonly #format: TableFormat<Document, Filter>;
  readonly #model: string;
  readonly #now: () => Date;
  #known: { state: IndexState; readAt: number } | undefined;
  #opened: { name: string; table: Promise<SearchTable> } | undefined;

  constructor({
    name,
    states,
    tables,
    format,
    model,
    now,
  }: {
    /** Name of the index. */
    name: string;
    states: IndexStateModel;
    tables: SearchTables;
    format: TableFormat<Document, Filter>;
    /** The encoder of queries. */
    model: string;
    now: () => Date;
  }) {
    this.#name = name;
    this.#states = states;
    this.#tables = tables;
    this.#format = format;
    this.#model = model;
    this.#now = now;
  }

  /**
   * Finds documents that pass the filter, up to `limit` by meaning and as many by words. The filter applies before the limit.
   * @param work reads what it needs of them. It is called again if rows have moved meanwhile, or if the writer has replaced the table
   */
  find<Result>(
    query: SearchQuery,
    filter: Filter,
    limit: number,
    work: (found: Found<Document>) => Promise<Result>,
    options: SearchOptions = {},
  ): Promise<Result> {
    return this.#read((table) => table.find({ ...options, format: this.#format, query, filter, limit }, work));
  }

  /** The table that answers at the moment, for a caller that knows more about it. */
  async open(): Promise<{ name: string; table: SearchTable }> {
    const { table: name } = await this.#current();
    try {
      return { name, table: await this.#open(name) };
    } catch (error) {
      throw this.#unreadable(error);
    }
  }

  /** How many documents it has. */
  count(): Promise<number> {
    return this.#read((table) => table.count());
  }

  /** How long ago the writer was last up to date, in milliseconds. */
  async lagMs(): Promise<number> {
    return this.#now().getTime() - (await this.#current()).followedAt.getTime();
  }

  async #current(): Promise<IndexState> {
    const readAt = performance.now();
    if (this.#known !== undefined && readAt - this.#known.readAt < STATE_MAX_AGE_MS) return this.#known.state;
    const state = await this.#states.findById(this.#name).lean();
    if (state?.format !== this.#format.version || state.model !== this.#model) {
      throw new IndexUnavailableError(`The index ${this.#name} hasn't been built yet`);
    }
    this.#known = { state, readAt };
    return state;
  }

  async #open(name: string): Promise<SearchTable> {
    if (this.#opened?.name !== name) this.#opened = { name, table: this.#tables.open(name) };
    try {
      return await this.#opened.table;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  /** Reads the table. If that fails, the writer may have replaced it: the one that it names now gets a second chance. */
  async #read<Result>(work: (table: SearchTable) => Promise<Result>): Promise<Result> {
    const { table } = await this.#current();
    try {
      return await work(await this.#open(table));
    } catch {
      [this.#known, this.#opened] = [undefined, undefined];
      const { table: latest } = await this.#current();
      try {
        return await work(await this.#open(latest));
      } catch (error) {
        throw this.#unreadable(error);
      }
    }
  }

  #unreadable(cause: unknown): IndexUnavailableError {
    return new IndexUnavailableError(`The index ${this.#name} can't be read`, { cause });
  }
}
