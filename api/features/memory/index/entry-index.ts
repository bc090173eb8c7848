import type { Logger } from "../../../lib/logger.ts";
import { DeadlineExceededError, withTimeout } from "../../../lib/timeout.ts";
import { toVector } from "../../../search/embedding/vectors.ts";
import { withinLimit } from "../../../search/encode-query.ts";
import type { SearchQuery } from "../../../search/engine/match.ts";
import { createMatcher } from "../../../search/engine/unindexed.ts";
import { IndexUnavailableError } from "../../../search/index/index-reader.ts";
import type { IndexReader } from "../../../search/index/index-reader.ts";
import { entryFormat, toIndexedEntry } from "./entry-format.ts";
import type { EntryFilter, IndexedEntry } from "./entry-format.ts";
import { indexedChangeId } from "../model.ts";
import type { MemoryModels } from "../model.ts";

/** An entry that matches a query. */
export interface EntryMatch {
  id: string;
  relevance: number;
}

type OpenTable = Awaited<ReturnType<IndexReader<IndexedEntry, EntryFilter>["open"]>>;

/** Maximum number of an agent's entries for an exact search. Above it, the approximate vector index is used. */
const MOST_COMPARED = 2_000;
const LEAST_CANDIDATES = 100;
const CANDIDATES_PER_ANSWER = 4;
/** Entries read for each answer: some may have been deleted meanwhile. */
const READ_PER_ANSWER = 2;
const READ_AT_ONCE = 200;
/** How long to wait for the index's object store before searching the database instead, in milliseconds. */
const INDEX_LIMIT_MS = 5_000;

const NOTHING_NEW = { changed: new Set<string>(), matches: [] as EntryMatch[] };

const byRelevance = (left: EntryMatch, right: EntryMatch): number =>
  right.relevance - left.relevance || (right.id < left.id ? -1 : 1);

/**
 * Searches an agent's entries in the index that the worker writes, and in the database for changes that the index lacks. So
 * the next search in any process finds a write. A lost index or a missing worker makes searches slower, not wrong.
 */
export class EntryIndex {
  readonly #models: Pick<MemoryModels, "entries" | "totals" | "removals" | "indexed">;
  readonly #reader: Pick<IndexReader<IndexedEntry, EntryFilter>, "open">;
  readonly #model: string;
  readonly #log: Logger;

  constructor({
    models,
    reader,
    model,
    log,
  }: {
    models: Pick<MemoryModels, "entries" | "totals" | "removals" | "indexed">;
    reader: Pick<IndexReader<IndexedEntry, EntryFilter>, "open">;
    /** The encoder's model. */
    model: string;
    log: Logger;
  }) {
    this.#models = models;
    this.#reader = reader;
    this.#model = model;
    this.#log = log;
  }

  /**
   * The entries that pass the filter and match the query, most relevant first: at least the `limit` best of them. Includes
   * every write that ended before the call.
   */
  async search(query: SearchQuery, filter: EntryFilter, limit: number): Promise<EntryMatch[]> {
    const open = await this.#open();
    const indexed = open === undefined ? undefined : await this.#searchTable(open, query, filter, limit);
    return (indexed ?? (await this.#readChanged(query, filter, 0)).matches).sort(byRelevance);
  }

  /** The current table; undefined while the index can't be read. */
  async #open(): Promise<OpenTable | undefined> {
    try {
      return await withTimeout("the index of memory", INDEX_LIMIT_MS, () => this.#reader.open());
    } catch (error) {
      if (!(error instanceof IndexUnavailableError || error instanceof DeadlineExceededError)) throw error;
      this.#log.debug({ err: error }, "memory is searched without its index");
      return undefined;
    }
  }

  /** Searches the table, and the database for later changes; undefined if that fails. */
  async #searchTable(open: OpenTable, query: SearchQuery, filter: EntryFilter, limit: number) {
    try {
      return await this.#searchBoth(open, query, filter, limit);
    } catch (error) {
      this.#log.warn({ err: error, table: open.name }, "couldn't search the index of memory");
      return undefined;
    }
  }

  async #searchBoth({ name, table }: OpenTable, query: SearchQuery, filter: EntryFilter, limit: number) {
    const { indexed, totals } = this.#models;
    const [noted, total] = await Promise.all([
      indexed.findById(indexedChangeId(name, filter.agentId)).lean(),
      totals.findById(filter.agentId, { changes: 1, entries: 1 }).lean(),
    ]);
    if (total === null) return [];
    const known = noted ?? { change: 0, version: 0 };
    const isBehind = total.changes > known.change;
    const { changed, matches } = isBehind ? await this.#readChanged(query, filter, known.change) : NOTHING_NEW;
    if (noted === null) return matches;
    const isExact = total.entries <= MOST_COMPARED;
    const searching = (async () => {
      // The table was opened before the index had this change.
      if ((await table.version()) < noted.version) await table.refresh();
      const candidates = Math.max(limit * CANDIDATES_PER_ANSWER, LEAST_CANDIDATES) + changed.size;
      const answers = limit * READ_PER_ANSWER + changed.size;
      return await table.search(entryFormat, query, filter, candidates, { isExact, answers });
    })();
    const found = await withinLimit("the index of memory", INDEX_LIMIT_MS, query.encoding, searching);
    const unchanged = found.filter(({ document }) => !changed.has(document.id));
    return [...matches, ...unchanged.map(({ document, relevance }) => ({ id: document.id, relevance }))];
  }

  /** Reads the changes after a change number: the ids of all, and the entries that match the query. */
  async #readChanged(query: SearchQuery, filter: EntryFilter, change: number) {
    const { entries, removals } = this.#models;
    const encoding = await query.encoding;
    const since = { agentId: filter.agentId, change: { $gt: change } };
    const removed = change === 0 ? [] : await removals.find(since, { entryId: 1 }).lean();
    const changed = new Set(removed.map(({ entryId }) => entryId));
    const match = createMatcher(entryFormat, query.text, encoding);
    const matches: EntryMatch[] = [];
    for await (const record of entries.find(since).batchSize(READ_AT_ONCE).lean().cursor()) {
      changed.add(record._id);
      const entry = toIndexedEntry(record);
      if (!entryFormat.passes(entry, filter)) continue;
      const vector = record.embedding?.model === this.#model ? toVector(record.embedding.vector) : null;
      const found = match(entry, vector);
      if (found !== undefined) matches.push({ id: entry.id, relevance: found.relevance });
    }
    return { changed, matches };
  }
}
