import type { QueryFilter } from "mongoose";

import { PAGE_BYTES } from "../../../db/pages.ts";
import { ApiError } from "../../../http/errors.ts";
import type {
  AuditRecord,
  EarlierVersionRecord,
  EntryContent,
  EntryRecord,
  EntryVersion,
  MemoryModels,
} from "../model.ts";
import { AUDIT_NAMESPACE, entryIdOf, keyRange } from "../names.ts";
import type { EntryName } from "../names.ts";
import { presentAudit, presentEntry, presentVersion } from "./presenter.ts";
import type { PresentedEntry, PresentedVersion } from "./presenter.ts";

/** The query of a list of one namespace, in the order of keys. */
export interface EntryQuery {
  namespace: string;
  prefix?: string | undefined;
  tag?: string | undefined;
  limit: number;
  /** The last key of the previous page. */
  after?: string | undefined;
}

/** A page of items. `next` is the position of the next page; null on the last one. */
export interface MemoryPage<Item, Position> {
  items: Item[];
  next: Position | null;
}

/** The database filter of a list. Served by an index, except for expired entries, which a job removes. */
export function listFilter(agentId: string, { namespace, prefix, tag, after }: EntryQuery) {
  return {
    agentId,
    ...(namespace === AUDIT_NAMESPACE ? {} : { namespace }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...keyRange(prefix, after),
  };
}

/** Takes a page of records, and reports whether there are more. A page ends early after the record that reaches `PAGE_BYTES`. */
async function take<T extends { valueJson: string }>(found: AsyncIterable<T>, limit: number) {
  const items: T[] = [];
  let bytes = 0;
  for await (const record of found) {
    if (items.length === limit || bytes >= PAGE_BYTES) return { items, hasMore: true };
    items.push(record);
    bytes += Buffer.byteLength(record.valueJson);
  }
  return { items, hasMore: false };
}

/** Reads entries. An expired entry counts as missing, even if it is still stored. */
export class MemoryReader {
  readonly #models: MemoryModels;
  readonly #now: () => Date;

  constructor({ models, now }: { models: MemoryModels; now: () => Date }) {
    this.#models = models;
    this.#now = now;
  }

  async list(agentId: string, query: EntryQuery): Promise<MemoryPage<PresentedEntry, string>> {
    const { limit } = query;
    const filter = listFilter(agentId, query);
    // Without the limit, the planner fetches 101 documents to compare the indexes that a query can use.
    const sorted = { sort: { key: 1 }, limit: limit + 1, batchSize: limit + 1 } as const;
    const page = async <T extends { key: string; valueJson: string }>(
      found: AsyncIterable<T>,
      present: (record: T) => PresentedEntry,
    ) => {
      const { items, hasMore } = await take(found, limit);
      return { items: items.map(present), next: hasMore ? (items.at(-1)?.key ?? null) : null };
    };
    if (query.namespace === AUDIT_NAMESPACE) {
      return page(
        this.#models.audit
          .find(filter as QueryFilter<AuditRecord>, null, sorted)
          .lean()
          .cursor(),
        presentAudit,
      );
    }
    const alive = { ...filter, expiresAt: { $gt: this.#now() } } as QueryFilter<EntryRecord>;
    return page(this.#models.entries.find(alive, { embedding: 0 }, sorted).lean().cursor(), presentEntry);
  }

  /** An entry, or one of its versions. @throws ApiError `not_found` */
  async read(agentId: string, name: EntryName, version?: number): Promise<PresentedEntry> {
    if (name.namespace === AUDIT_NAMESPACE) {
      const record = await this.#requireAudit(agentId, name);
      if (version !== undefined && version !== record.version) throw new ApiError("not_found");
      return record;
    }
    const record = await this.#requireEntry(agentId, name);
    if (version === undefined || version === record.version) return presentEntry(record);
    const earlier = await this.#models.versions.findOne({ _id: `${record._id}|${version}` }).lean();
    if (earlier === null) throw new ApiError("not_found");
    const { valueJson, tags, updatedAt } = earlier;
    return presentEntry({ ...record, version, valueJson, tags, updatedAt });
  }

  /** The versions of an entry, newest first. @throws ApiError `not_found` */
  async history(
    agentId: string,
    name: EntryName,
    { limit, before }: { limit: number; before?: number | undefined },
  ): Promise<MemoryPage<PresentedVersion, number>> {
    if (name.namespace === AUDIT_NAMESPACE) {
      const { version, value, tags, updatedAt } = await this.#requireAudit(agentId, name);
      return { items: before === undefined ? [{ version, value, tags, updatedAt }] : [], next: null };
    }
    const record = await this.#requireEntry(agentId, name);
    const earlierThan = Math.min(before ?? record.version, record.version);
    const found = this.#models.versions
      .find({ entryId: record._id, version: { $lt: earlierThan } })
      .sort({ version: -1 })
      .limit(limit + 1)
      .batchSize(limit + 1)
      .lean()
      .cursor();
    const isFirstPage = before === undefined || before > record.version;
    const { items, hasMore } = await take(newestFirst(isFirstPage ? record : undefined, found), limit);
    return { items: items.map(presentVersion), next: hasMore ? (items.at(-1)?.version ?? null) : null };
  }

  /** The entries with these ids that still exist, by id. */
  async byId(ids: readonly string[]): Promise<Map<string, PresentedEntry>> {
    const found = await this.#models.entries
      .find({ _id: { $in: ids }, expiresAt: { $gt: this.#now() } }, { embedding: 0 })
      .lean();
    return new Map(found.map((record) => [record._id, presentEntry(record)]));
  }

  /** The namespaces of an agent's entries, in order. */
  async namespaces(agentId: string): Promise<string[]> {
    const found: string[] = [];
    for (;;) {
      const after = found.at(-1);
      const next = await this.#models.entries
        .findOne({ agentId, ...(after === undefined ? {} : { namespace: { $gt: after } }) }, { namespace: 1 })
        .sort({ agentId: 1, namespace: 1, key: 1 })
        .lean();
      if (next === null) return found;
      found.push(next.namespace);
    }
  }

  async #requireEntry(agentId: string, name: EntryName): Promise<EntryContent> {
    const alive = { _id: entryIdOf(agentId, name), expiresAt: { $gt: this.#now() } };
    const record = await this.#models.entries.findOne(alive, { embedding: 0 }).lean();
    if (record === null) throw new ApiError("not_found");
    return record;
  }

  async #requireAudit(agentId: string, name: EntryName): Promise<PresentedEntry> {
    const record = await this.#models.audit.findOne({ _id: entryIdOf(agentId, name) }).lean();
    if (record === null) throw new ApiError("not_found");
    return presentAudit(record);
  }
}

async function* newestFirst(current: EntryContent | undefined, earlier: AsyncIterable<EarlierVersionRecord>) {
  if (current !== undefined) yield current as EntryVersion;
  for await (const version of earlier) yield version as EntryVersion;
}
