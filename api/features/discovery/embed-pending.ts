import { searchTextOf, toListing } from "../listings/listing.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import { embedAll } from "../../search/embedding/embed-batch.ts";
import type { EmbedRun } from "../../search/embedding/embed-jobs.ts";
import type { SentenceEncoder } from "../../search/embedding/encoder.ts";
import { toBytes } from "../../search/embedding/vectors.ts";

/** Dependencies of the jobs that embed pending listings. */
export interface EmbedPendingDeps {
  listings: ListingModel;
  encoder: SentenceEncoder;
}

type Pending = Omit<ListingRecord, "embedding">;

/** Batches that are read from the database at once. */
const BATCHES_READ = 8;

/**
 * Embeds the listings that couldn't be embedded when they were written, or those that another model embedded, the last changed ones
 * first. A listing is pending as long as it lacks its vector, so a process that dies midway loses nothing. While an embedding server
 * is unavailable or the day's tokens are spent, a run ends early.
 * @returns how many were embedded
 */
export async function embedPending(deps: EmbedPendingDeps, run: EmbedRun): Promise<number> {
  const { listings, encoder } = deps;
  const { texts, limitMs, signal, log } = run;
  const model = texts === "new" ? null : { $nin: [null, encoder.model] };
  // In the order of its index, however many listings wait. Archived ones are never found.
  const pending = listings
    .find({ status: { $in: ["active", "paused"] }, "embedding.model": model }, { embedding: 0 })
    .sort({ status: 1, "embedding.model": 1, updatedAt: -1 })
    .batchSize(BATCHES_READ * encoder.atOnce)
    .lean()
    .cursor();
  const embedded = await embedAll<Pending>({
    encoder,
    pending,
    signal,
    limitMs,
    isBackground: texts === "outdated",
    textOf: (record) => ({ text: searchTextOf(toListing(record)), spender: record.sellerAgentId }),
    async store(batch) {
      const { modifiedCount } = await listings.bulkWrite(
        batch.map(({ item: { _id, revision }, vector }) => ({
          updateOne: {
            // If the text has changed in the meantime, the change embedded it, or the next run does.
            filter: { _id, revision },
            update: { $set: { embedding: { model: encoder.model, vector: toBytes(vector) } } },
          },
        })),
        { ordered: false },
      );
      return modifiedCount;
    },
  });
  if (embedded > 0) log.info({ embedded, texts }, "embedded pending listings");
  return embedded;
}
