import type { Connection } from "mongoose";

import { withTransaction } from "../../../db/connection.ts";
import { BY_ID, writePlain } from "../../../db/plain-writes.ts";
import { embedAll } from "../../../search/embedding/embed-batch.ts";
import type { Embedded } from "../../../search/embedding/embed-batch.ts";
import type { EmbedRun } from "../../../search/embedding/embed-jobs.ts";
import type { SentenceEncoder } from "../../../search/embedding/encoder.ts";
import { toBytes } from "../../../search/embedding/vectors.ts";
import { startChange } from "../ledger.ts";
import type { MemoryModels } from "../model.ts";
import { earlierModels, pendingInTurns } from "./pending-turns.ts";
import type { PendingEntry } from "./pending-turns.ts";
import { meaningOf } from "./search-text.ts";

/** Dependencies of the jobs that embed pending entries. */
export interface EmbedEntriesDeps {
  connection: Connection;
  models: Pick<MemoryModels, "entries" | "totals">;
  encoder: SentenceEncoder;
}

/**
 * Embeds the entries of batches and imports and those that couldn't be embedded when written, or those that another model
 * embedded. Each write counts as a change of the agent's memory, so every search index sees it. Agents take turns. A run
 * ends early while the embedding server is unavailable or the day's tokens are spent.
 * @returns the number of embedded entries
 */
export async function embedEntries(deps: EmbedEntriesDeps, run: Omit<EmbedRun, "log">): Promise<number> {
  const { connection, models, encoder } = deps;
  const { texts, limitMs, signal } = run;
  async function write(agentId: string, embedded: readonly Embedded<PendingEntry>[]): Promise<void> {
    await withTransaction(connection, async (session) => {
      const { changes: change } = await startChange(models, agentId, session);
      await writePlain(
        models.entries,
        embedded.map(({ item: { _id, writeId }, vector }) => ({
          updateOne: {
            // An entry that was written since is embedded by its own write or by the next run.
            filter: { _id, agentId, writeId },
            hint: BY_ID,
            update: { $set: { change, embedding: { model: encoder.model, vector: toBytes(vector) } } },
          },
        })),
        session,
      );
    });
  }

  /** Agents without tokens left. A later run embeds their entries. */
  const unpaid = new Set<string>();
  const embeddedBy = texts === "new" ? [null] : await earlierModels(models.entries, encoder.model);
  return await embedAll<PendingEntry>({
    encoder,
    signal,
    limitMs,
    isBackground: texts === "outdated",
    pending: pendingInTurns(models, embeddedBy, unpaid),
    skip: (items) => {
      for (const { agentId } of items) unpaid.add(agentId);
    },
    textOf: ({ key, valueJson, agentId }) => ({ text: meaningOf(key, JSON.parse(valueJson)), owner: agentId }),
    async store(embedded) {
      for (const [agentId, own] of Map.groupBy(embedded, ({ item }) => item.agentId)) await write(agentId, own);
      return embedded.length;
    },
  });
}
