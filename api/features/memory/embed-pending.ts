import type { Connection } from "mongoose";

import { withTransaction } from "../../db/connection.ts";
import { writePlain } from "../../db/plain-writes.ts";
import type { SentenceEncoder } from "../search/embedding/encoder.ts";
import { toBytes } from "../search/embedding/vectors.ts";
import { beginChange } from "./ledger.ts";
import type { EntryRecord, MemoryModels } from "./model.ts";
import { meaningOf } from "./search-text.ts";

/** Dependencies of the job that embeds pending entries. */
export interface EmbedEntriesDeps {
  connection: Connection;
  models: Pick<MemoryModels, "entries" | "totals">;
  encoder: SentenceEncoder;
}

const BATCH = 50;

/**
 * Embeds the entries of batches and imports, those that couldn't be embedded when they were written, and those that another
 * model embedded. Its change is one of the agent's, so every search index sees it.
 * @returns how many were embedded
 */
export async function embedEntries(deps: EmbedEntriesDeps, signal: AbortSignal): Promise<number> {
  const { connection, models, encoder } = deps;
  let embedded = 0;
  let after = "";
  for (;;) {
    const pending = await models.entries
      .find({ _id: { $gt: after }, "embedding.model": { $ne: encoder.model } }, { embedding: 0 })
      .sort({ _id: 1 })
      .limit(BATCH)
      .lean<EntryRecord[]>();
    const last = pending.at(-1);
    if (last === undefined || signal.aborted) return embedded;
    for (const [agentId, records] of Map.groupBy(pending, (record) => record.agentId)) {
      const vectors = await Promise.all(
        records.map(async ({ key, valueJson }) => (await encoder.encode(meaningOf(key, JSON.parse(valueJson)))).vector),
      );
      await withTransaction(connection, async (session) => {
        const { changes: change } = await beginChange(models, agentId, session);
        await writePlain(
          models.entries,
          records.map(({ _id, writeId }, position) => ({
            updateOne: {
              // What was written in the meantime is embedded by its write, or by the next run.
              filter: { _id, writeId },
              update: {
                $set: {
                  change,
                  embedding: { model: encoder.model, vector: toBytes(vectors[position] as Float32Array) },
                },
              },
            },
          })),
          session,
        );
      });
      embedded += records.length;
    }
    after = last._id;
  }
}
