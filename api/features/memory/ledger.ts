import type { ClientSession } from "mongoose";

import { BY_ID, insertPlain, writePlain } from "../../db/plain-writes.ts";
import { ApiError } from "../../http/errors.ts";
import type { EntryRecord, MemoryModels, MemoryTotalsRecord, RemovalRecord } from "./model.ts";

/** The maximum that an agent may store. */
export interface MemoryQuota {
  entries: number;
  /** Bytes of keys, tags and values of all stored versions. */
  bytes: number;
}

/** How long a removal is stored, in milliseconds. A search index that was idle for half of that is rebuilt. */
export const REMOVALS_KEPT_MS = 3_600_000;

/**
 * Starts a change of an agent's memory. Locks the agent's totals for the rest of the transaction, so the agent's writes
 * run one after another, and their numbers rise in commit order.
 */
export async function startChange(
  { totals }: Pick<MemoryModels, "totals">,
  agentId: string,
  session: ClientSession,
): Promise<MemoryTotalsRecord> {
  return totals
    .findOneAndUpdate(
      { _id: agentId },
      { $inc: { changes: 1 }, $setOnInsert: { entries: 0, bytes: 0 } },
      { session, upsert: true, returnDocument: "after" },
    )
    .orFail()
    .lean();
}

/**
 * Adds to an agent's totals.
 * @throws ApiError `memory_quota_exceeded` if an increase exceeds a limit; decreases are always allowed
 */
export async function updateTotals(
  { totals }: Pick<MemoryModels, "totals">,
  before: MemoryTotalsRecord,
  added: MemoryQuota,
  session: ClientSession,
  quota?: MemoryQuota,
): Promise<void> {
  for (const bound of ["entries", "bytes"] as const) {
    const limit = quota?.[bound];
    if (limit === undefined || added[bound] <= 0 || before[bound] + added[bound] <= limit) continue;
    throw new ApiError("memory_quota_exceeded", {
      details: { bound, limit, used: before[bound], added: added[bound] },
    });
  }
  if (added.entries === 0 && added.bytes === 0) return;
  await totals.updateOne({ _id: before._id }, { $inc: { ...added } }, { session });
}

/** Deletes entries of one agent with their histories, and records the removals for the search indexes. */
export async function removeEntries(
  models: MemoryModels,
  totals: MemoryTotalsRecord,
  records: readonly Pick<EntryRecord, "_id" | "bytes" | "earlierBytes">[],
  now: Date,
  session: ClientSession,
): Promise<void> {
  const ids = records.map(({ _id }) => _id);
  const filter = { _id: { $in: ids }, agentId: totals._id };
  await writePlain(models.entries, [{ deleteMany: { filter, hint: BY_ID } }], session);
  await writePlain(models.versions, [{ deleteMany: { filter: { entryId: { $in: ids } } } }], session);
  const expiresAt = new Date(now.getTime() + REMOVALS_KEPT_MS);
  const removals = ids.map((entryId, position): RemovalRecord => ({
    _id: `${totals._id}|${totals.changes}|${position}`,
    agentId: totals._id,
    change: totals.changes,
    entryId,
    expiresAt,
  }));
  await insertPlain(models.removals, removals, session);
  const bytes = records.reduce((sum, record) => sum + record.bytes + record.earlierBytes, 0);
  await updateTotals(models, totals, { entries: -ids.length, bytes: -bytes }, session);
}
