import type { Connection } from "mongoose";

import { withTransaction } from "../../../db/connection.ts";
import { startChange, removeEntries } from "../ledger.ts";
import type { MemoryModels } from "../model.ts";

const BATCH = 500;

/** Dependencies of the sweep. */
export interface SweepDeps {
  connection: Connection;
  models: MemoryModels;
  now: () => Date;
}

/**
 * Deletes expired entries with their histories and subtracts them from their agents' totals, which MongoDB's own expiry
 * can't do. Expired entries are already unreadable.
 * @returns the number of deleted entries
 */
export async function sweepExpired({ connection, models, now }: SweepDeps, signal: AbortSignal): Promise<number> {
  let swept = 0;
  for (;;) {
    const at = now();
    const expired = await models.entries
      .find({ expiresAt: { $lte: at } }, { agentId: 1 })
      .sort({ expiresAt: 1 })
      .limit(BATCH)
      .lean();
    if (expired.length === 0 || signal.aborted) return swept;
    for (const [agentId, found] of Map.groupBy(expired, (record) => record.agentId)) {
      const ids = found.map(({ _id }) => _id);
      swept += await withTransaction(connection, async (session) => {
        const totals = await startChange(models, agentId, session);
        // An entry may have been written again or deleted since.
        const records = await models.entries
          .find({ _id: { $in: ids }, expiresAt: { $lte: at } }, { bytes: 1, earlierBytes: 1 }, { session })
          .lean();
        if (records.length > 0) await removeEntries(models, totals, records, at, session);
        return records.length;
      });
    }
  }
}
