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

/** Dependencies of a write. */
interface WriterDeps {
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

/** The results of an earlier run of the same request; undefined if none has written. */
async function writtenBefore(
  versions: MemoryModels["versions"],
  writeId: string,
  records: readonly EntryContent[],
  session: ClientSession,
): Promise<Written[] | undefined> {
  const ids = records.map(({ _id }) => _id);
  const kept = await versions.find({ entryId: { $in: ids }, writeId }, { entryId: 1, version: 1 }, { session }).lean();
  const versionOf = new Map<string, number>([
    ...kept.map(({ entryId, version }) => [entryId, version] as const),
    ...records.flatMap((record) => (record.writeId === writeId ? [[record._id, record.version] as const] : [])),
  ]);
  if (versionOf.size === 0) return undefined;
  return records.map((record): Written => ({ record, outcome: outcomeOf(versionOf.get(record._id) ?? 1) }));
}

/** The effect of a draft on the entry of its name, which is there or has expired or neither. */
interface Change extends Written {
  current: EntryContent | undefined;
  expired: EntryContent | undefined;
  /** Undefined for an unchanged entry. */
  replacement?: EntryRecord;
}

const sizeOf = (record: Pick<EntryContent, "bytes" | "earlierBytes"> | undefined): number =>
  record === undefined ? 0 : record.bytes + record.earlierBytes;

/**
 * @param found the stored entry, the bytes of the version that this one pushes out, and the number of the change
 * @throws ApiError `version_mismatch`
 */
function changeBy(
  draft: EntryDraft,
  { agentId, condition, skipsEqual, writeId, now }: WriteOrder,
  { known, trimmedBytes, change }: { known: EntryContent | undefined; trimmedBytes: number; change: number },
): Change {
  // An expired entry counts as missing, so this write creates a new one.
  const current = known !== undefined && known.expiresAt > now ? known : undefined;
  const expired = current === undefined ? known : undefined;
  if (condition !== undefined) requireVersion(condition, current?.version ?? null);
  if (current !== undefined && skipsEqual === true && isEqual(current, draft)) {
    return { record: current, outcome: "unchanged", current, expired };
  }
  const record: EntryRecord = {
    ...draft,
    _id: entryIdOf(agentId, draft),
    agentId,
    bytes: countBytes(draft),
    earlierBytes: current === undefined ? 0 : sizeOf(current) - trimmedBytes,
    version: (current?.version ?? 0) + 1,
    writeId,
    change,
    createdAt: current?.createdAt ?? now,
    updatedAt: now,
  };
  return { record, outcome: outcomeOf(record.version), current, expired, replacement: record };
}

/**
 * Writes entries, their histories and the agent's totals in one transaction.
 * @throws ApiError `version_mismatch`, `memory_quota_exceeded`
 */
export function writeEntries({ connection, models, quota }: WriterDeps, order: WriteOrder): Promise<Written[]> {
  const { entries, versions } = models;
  const { agentId, drafts } = order;
  const ids = drafts.map((draft) => entryIdOf(agentId, draft));
  return withTransaction(connection, async (session) => {
    const totals = await startChange(models, agentId, session);
    const found = await entries.find({ _id: { $in: ids } }, { embedding: 0 }, { session }).lean();
    const stored = new Map(found.map((record) => [record._id, record]));
    if (order.mayHaveRun) {
      const inOrder = ids.flatMap((id) => stored.get(id) ?? []);
      const before = await writtenBefore(versions, order.writeId, inOrder, session);
      if (before !== undefined) return before;
    }
    const overdue = found.flatMap(({ _id, version }) =>
      version < MEMORY_VERSIONS ? [] : [`${_id}|${version + 1 - MEMORY_VERSIONS}`],
    );
    const trimmed = await versions.find({ _id: { $in: overdue } }, { entryId: 1, bytes: 1 }, { session }).lean();
    const trimmedBytes = new Map(trimmed.map(({ entryId, bytes }) => [entryId, bytes]));
    const changes = drafts.map((draft, index) => {
      const id = ids[index] ?? "";
      const facts = { known: stored.get(id), trimmedBytes: trimmedBytes.get(id) ?? 0, change: totals.changes };
      return changeBy(draft, order, facts);
    });
    await updateTotals(models, totals, growthBy(changes), session, quota);
    const changedIds = new Set(changes.flatMap(({ replacement }) => replacement?._id ?? []));
    const replaced = changes.flatMap(({ expired }) => expired?._id ?? []);
    await writePlain(
      versions,
      [
        ...(replaced.length === 0 ? [] : [{ deleteMany: { filter: { entryId: { $in: replaced } } } }]),
        ...trimmed.flatMap(({ _id, entryId }) => (changedIds.has(entryId) ? [{ deleteOne: { filter: { _id } } }] : [])),
      ],
      session,
    );
    const earlier = changes.flatMap(({ current, replacement }) =>
      current === undefined || replacement === undefined ? [] : [earlierVersion(current)],
    );
    await insertPlain(versions, earlier, session);
    await writePlain(
      entries,
      // The filter includes the agent's id, the shard key proposed in docs/operating/scaling.md, because an upsert needs it.
      changes.flatMap(({ replacement }) =>
        replacement === undefined
          ? []
          : [{ replaceOne: { filter: { _id: replacement._id, agentId }, replacement, upsert: true, hint: BY_ID } }],
      ),
      session,
    );
    return changes;
  });
}

function growthBy(changes: readonly Change[]): MemoryQuota {
  const growth = { entries: 0, bytes: 0 };
  for (const { replacement, current, expired } of changes) {
    if (replacement === undefined) continue;
    const before = current ?? expired;
    growth.entries += before === undefined ? 1 : 0;
    growth.bytes += sizeOf(replacement) - sizeOf(before);
  }
  return growth;
}
