import type { ClientSession, Connection } from "mongoose";

import { MEMORY_VERSIONS } from "../../../config/constants.ts";
import { withTransaction } from "../../../db/connection.ts";
import { BY_ID, insertPlain, writePlain } from "../../../db/plain-writes.ts";
import type { StoredEmbedding } from "../../../search/embedding/stored-embedding.ts";
import { requireVersion } from "./conditions.ts";
import type { Condition } from "./conditions.ts";
import { startChange, updateTotals } from "../ledger.ts";
import type { MemoryQuota } from "../ledger.ts";
import type { EarlierVersionRecord, EntryContent, EntryRecord, MemoryModels } from "../model.ts";
import { entryIdOf } from "../names.ts";
import type { EntryName } from "../names.ts";

/** An entry to write. */
export interface EntryDraft extends EntryName {
  valueJson: string;
  tags: string[];
  ttlSeconds: number;
  expiresAt: Date;
  /** Null if the text is embedded later. */
  embedding: StoredEmbedding | null;
}

/** One request's write of entries. */
export interface WriteOrder {
  agentId: string;
  /** The entries, with distinct names. All of them are written, or none. */
  drafts: readonly EntryDraft[];
  condition?: Condition;
  /** Id of the request; the same for its repeats. */
  writeId: string;
  /** True if an earlier run of the request may have written. */
  mayHaveRun: boolean;
  /** Skips an entry that already has the draft's value, tags and expiry. */
  skipsEqual?: boolean;
  now: Date;
}

/** The result of a draft. */
export interface Written {
  record: EntryContent;
  outcome: "created" | "updated" | "unchanged";
}

/** Dependencies of the writer. */
export interface WriterDeps {
  connection: Connection;
  models: MemoryModels;
  quota: MemoryQuota;
}

const countBytes = ({ key, tags, valueJson }: EntryDraft): number =>
  [key, ...tags, valueJson].reduce((sum, text) => sum + Buffer.byteLength(text), 0);

const isEqual = (record: EntryContent, draft: EntryDraft): boolean =>
  record.valueJson === draft.valueJson &&
  record.ttlSeconds === draft.ttlSeconds &&
  record.expiresAt.getTime() === draft.expiresAt.getTime() &&
  JSON.stringify(record.tags) === JSON.stringify(draft.tags);

const outcomeOf = (version: number) => (version === 1 ? "created" : "updated");

/** The entry's current content as an earlier version. */
function earlierVersion({ _id, version, valueJson, tags, bytes, writeId, updatedAt }: EntryContent) {
  const earlier: EarlierVersionRecord = {
    _id: `${_id}|${version}`,
    entryId: _id,
    version,
    valueJson,
    tags,
    bytes,
    writeId,
    updatedAt,
  };
  return earlier;
}

/** Writes entries, their histories and the agent's totals in one transaction. */
export function createWriter({ connection, models, quota }: WriterDeps) {
  const { entries, versions } = models;

  /** The results of an earlier run of the same request; undefined if none has written. */
  async function writtenBefore(order: WriteOrder, stored: ReadonlyMap<string, EntryContent>, session: ClientSession) {
    const records = order.drafts.flatMap((draft) => stored.get(entryIdOf(order.agentId, draft)) ?? []);
    const ids = records.map(({ _id }) => _id);
    const kept = await versions
      .find({ entryId: { $in: ids }, writeId: order.writeId }, { entryId: 1, version: 1 }, { session })
      .lean();
    const versionOf = new Map<string, number>([
      ...kept.map(({ entryId, version }) => [entryId, version] as const),
      ...records.flatMap(({ _id, version, writeId }) => (writeId === order.writeId ? [[_id, version] as const] : [])),
    ]);
    if (versionOf.size === 0) return undefined;
    return records.map((record): Written => ({ record, outcome: outcomeOf(versionOf.get(record._id) ?? 1) }));
  }

  async function writeIn(session: ClientSession, order: WriteOrder): Promise<Written[]> {
    const { agentId, drafts, condition, now } = order;
    const totals = await startChange(models, agentId, session);
    const ids = drafts.map((draft) => entryIdOf(agentId, draft));
    const found = await entries.find({ _id: { $in: ids } }, { embedding: 0 }, { session }).lean();
    const stored = new Map(found.map((record) => [record._id, record]));
    if (order.mayHaveRun) {
      const before = await writtenBefore(order, stored, session);
      if (before !== undefined) return before;
    }

    const overdue = drafts.flatMap((draft) => {
      const version = (stored.get(entryIdOf(agentId, draft))?.version ?? 0) + 1 - MEMORY_VERSIONS;
      return version > 0 ? [`${entryIdOf(agentId, draft)}|${version}`] : [];
    });
    const trimmed = await versions.find({ _id: { $in: overdue } }, { entryId: 1, bytes: 1 }, { session }).lean();
    const trimmedBytes = new Map(trimmed.map(({ entryId, bytes }) => [entryId, bytes]));

    const added = { entries: 0, bytes: 0 };
    const changed: EntryRecord[] = [];
    const earlier: EarlierVersionRecord[] = [];
    const expired: string[] = [];
    const written = drafts.map((draft): Written => {
      const _id = entryIdOf(agentId, draft);
      const known = stored.get(_id);
      const current = known !== undefined && known.expiresAt > now ? known : undefined;
      if (condition !== undefined) requireVersion(condition, current?.version ?? null);
      if (current !== undefined && order.skipsEqual === true && isEqual(current, draft)) {
        return { record: current, outcome: "unchanged" };
      }
      // An expired entry counts as missing, so this write creates a new one.
      if (known !== undefined && current === undefined) expired.push(_id);
      if (current !== undefined) earlier.push(earlierVersion(current));
      const earlierBytes =
        current === undefined ? 0 : current.earlierBytes + current.bytes - (trimmedBytes.get(_id) ?? 0);
      const record: EntryRecord = {
        _id,
        agentId,
        namespace: draft.namespace,
        key: draft.key,
        valueJson: draft.valueJson,
        tags: draft.tags,
        bytes: countBytes(draft),
        earlierBytes,
        version: (current?.version ?? 0) + 1,
        writeId: order.writeId,
        ttlSeconds: draft.ttlSeconds,
        expiresAt: draft.expiresAt,
        embedding: draft.embedding,
        change: totals.changes,
        createdAt: current?.createdAt ?? now,
        updatedAt: now,
      };
      changed.push(record);
      added.entries += known === undefined ? 1 : 0;
      added.bytes += record.bytes + earlierBytes - (known === undefined ? 0 : known.bytes + known.earlierBytes);
      return { record, outcome: outcomeOf(record.version) };
    });

    await updateTotals(models, totals, added, session, quota);
    await writePlain(
      versions,
      [
        ...(expired.length === 0 ? [] : [{ deleteMany: { filter: { entryId: { $in: expired } } } }]),
        ...trimmed.map(({ _id }) => ({ deleteOne: { filter: { _id } } })),
      ],
      session,
    );
    await insertPlain(versions, earlier, session);
    await writePlain(
      entries,
      // The filter includes the agent's id, the shard key proposed in docs/operating/scaling.md, because an upsert needs it.
      changed.map((record) => ({
        replaceOne: { filter: { _id: record._id, agentId }, replacement: record, upsert: true, hint: BY_ID },
      })),
      session,
    );
    return written;
  }

  return {
    /** @throws ApiError `version_mismatch`, `memory_quota_exceeded` */
    write: (order: WriteOrder): Promise<Written[]> => withTransaction(connection, (session) => writeIn(session, order)),
  };
}
