import type { Connection } from "mongoose";

import { writePlain } from "../../../db/plain-writes.ts";
import { toVector } from "../../../search/embedding/vectors.ts";
import type { StoredDocument } from "../../../search/engine/search-table.ts";
import { watchFrom } from "../../../search/index/change-batches.ts";
import type { IndexSource, TableInUse } from "../../../search/index/index-source.ts";
import { entryFormat, toIndexedEntry, MEMORY_INDEX } from "./entry-format.ts";
import type { IndexedEntry } from "./entry-format.ts";
import { REMOVALS_KEPT_MS } from "../ledger.ts";
import { indexedChangeId } from "../model.ts";
import type { EntryRecord, MemoryModels, MemoryTotalsRecord } from "../model.ts";

/** Dependencies of the source. */
export interface MemorySourceDeps {
  connection: Connection;
  models: Pick<MemoryModels, "entries" | "totals" | "removals" | "indexed">;
  /** The current encoder's model. */
  model: string;
}

const AGENTS_AT_ONCE = 100;
const ENTRIES_AT_ONCE = 500;

/**
 * Writes all agents' entries to the index of memory search. It watches the agents' totals, whose change number every write
 * raises. For each agent it reads the changes since the last recorded number, and then records the new one. Searches read
 * from the database the changes that the index lacks.
 */
export function createMemorySource({ connection, models, model }: MemorySourceDeps): IndexSource<MemoryTotalsRecord> {
  const { entries, totals, removals, indexed } = models;

  /** Writes agents' changes since the last recorded numbers. @param isNew whether the table has no entries of these agents */
  async function writeAgents(agentIds: readonly string[], { name, table }: TableInUse, isNew: boolean) {
    const idOf = (agentId: string) => indexedChangeId(name, agentId);
    const noted = isNew ? [] : await indexed.find({ _id: { $in: agentIds.map(idOf) } }).lean();
    const known = new Map(noted.map(({ _id, change }) => [_id, change]));
    const changeOf = (agentId: string) => known.get(idOf(agentId)) ?? 0;
    // Read before the entries: these are at least as new, and newer changes are read again next time.
    const current = await totals.find({ _id: { $in: agentIds } }, { changes: 1 }).lean();
    const behind = current.filter(({ _id, changes }) => changes > changeOf(_id));
    if (behind.length === 0) return 0;

    const since = { $or: behind.map(({ _id }) => ({ agentId: _id, change: { $gt: changeOf(_id) } })) };
    const removed = isNew ? [] : await removals.find(since, { entryId: 1, change: 1 }).lean();
    const deleted = removed.map(({ entryId, change }) => ({ id: entryId, revision: change }));
    await table.apply(entryFormat, [], deleted);
    let count = 0;
    const write = async (records: readonly EntryRecord[]): Promise<void> => {
      const documents = records.map((record): StoredDocument<IndexedEntry> => {
        const { embedding, change } = record;
        const vector = embedding?.model === model ? toVector(embedding.vector) : null;
        return { document: toIndexedEntry(record), revision: change, vector };
      });
      if (isNew) await table.add(entryFormat, documents);
      else await table.apply(entryFormat, documents, []);
      count += documents.length;
    };
    let batch: EntryRecord[] = [];
    for await (const record of entries.find(since).batchSize(ENTRIES_AT_ONCE).lean().cursor()) {
      batch.push(record);
      if (batch.length < ENTRIES_AT_ONCE) continue;
      await write(batch);
      batch = [];
    }
    if (batch.length > 0) await write(batch);
    const version = await table.version();
    await writePlain(
      indexed,
      behind.map(({ _id, changes: change }) => ({
        // `$max`, so that a writer paused past its lease doesn't reset newer numbers.
        updateOne: { filter: { _id: idOf(_id) }, update: { $max: { change, version } }, upsert: true },
      })),
    );
    return count;
  }

  return {
    name: MEMORY_INDEX,
    format: entryFormat,
    connection,
    mostAbsenceMs: REMOVALS_KEPT_MS / 2,
    watch: (from) => watchFrom<MemoryTotalsRecord>(totals.collection, from),

    async load(target, beforeWrite) {
      let agentIds: string[] = [];
      let count = 0;
      const flush = async (): Promise<void> => {
        await beforeWrite();
        count += await writeAgents(agentIds, target, true);
        agentIds = [];
      };
      for await (const { _id } of totals.find({}, { _id: 1 }).lean().cursor()) {
        agentIds.push(_id);
        if (agentIds.length >= AGENTS_AT_ONCE) await flush();
      }
      await flush();
      return count;
    },

    async apply(changes, target) {
      const changed = changes.flatMap((change) => ("documentKey" in change ? [change.documentKey._id] : []));
      const agentIds = [...new Set(changed)];
      for (let start = 0; start < agentIds.length; start += AGENTS_AT_ONCE) {
        await writeAgents(agentIds.slice(start, start + AGENTS_AT_ONCE), target, false);
      }
    },

    async forget(table) {
      await indexed.deleteMany({
        _id: { $gte: indexedChangeId(table, ""), $lt: indexedChangeId(table, "\u{10FFFF}") },
      });
    },
  };
}
