import type { Logger } from "../../lib/logger.ts";
import { searchTextOf, toListing } from "../listings/listing.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import { embedBatch } from "./embedding/embed-batch.ts";
import type { SentenceEncoder } from "./embedding/encoder.ts";
import { toBytes } from "./embedding/vectors.ts";

/** Dependencies of the job that embeds pending listings. */
export interface EmbedPendingDeps {
  listings: ListingModel;
  encoder: SentenceEncoder;
}

/** A run ends then, long before its lock does. The next one goes on. */
const RUN_MS = 4 * 60_000;

type Pending = Omit<ListingRecord, "embedding">;

/**
 * Embeds the listings that couldn't be embedded when they were written, or that another model embedded. A listing is
 * pending as long as it lacks its vector, so a process that dies midway loses nothing. While an embedding server is
 * unavailable or the day's tokens are spent, a run ends early.
 * @returns how many were embedded
 */
export async function embedPending(deps: EmbedPendingDeps, log: Logger, signal: AbortSignal): Promise<number> {
  const { listings, encoder } = deps;
  const endAt = performance.now() + RUN_MS;
  let total = 0;

  async function embedAll(records: readonly Pending[]): Promise<boolean> {
    const texts = records.map((record) => ({ item: record, text: searchTextOf(toListing(record)) }));
    const { embedded, isStuck } = await embedBatch(encoder, texts);
    if (embedded.length > 0) {
      const { modifiedCount } = await listings.bulkWrite(
        embedded.map(({ item: { _id, revision }, vector }) => ({
          updateOne: {
            // If the text has changed in the meantime, the change embedded it, or the next run does.
            filter: { _id, revision },
            update: { $set: { embedding: { model: encoder.model, vector: toBytes(vector) } } },
          },
        })),
        { ordered: false },
      );
      total += modifiedCount;
      log.info({ embedded: total }, "embedded pending listings");
    }
    return isStuck || signal.aborted || performance.now() > endAt;
  }

  // In the order of its index, however many listings wait. Archived ones are never found.
  const pending = listings
    .find({ status: { $in: ["active", "paused"] }, "embedding.model": { $ne: encoder.model } }, { embedding: 0 })
    .sort({ status: 1, "embedding.model": 1, _id: 1 })
    .batchSize(encoder.atOnce)
    .lean<Pending[]>()
    .cursor();
  let batch: Pending[] = [];
  for await (const record of pending) {
    batch.push(record);
    if (batch.length < encoder.atOnce) continue;
    if (await embedAll(batch)) return total;
    batch = [];
  }
  if (batch.length > 0 && !signal.aborted) await embedAll(batch);
  return total;
}
