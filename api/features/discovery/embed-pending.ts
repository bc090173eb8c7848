import type { Logger } from "../../lib/logger.ts";
import { searchTextOf, toListing } from "../listings/listing.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import { embedAll } from "../../search/embedding/embed-batch.ts";
import type { SentenceEncoder } from "../../search/embedding/encoder.ts";
import { toBytes } from "../../search/embedding/vectors.ts";

/** Dependencies of the job that embeds pending listings. */
export interface EmbedPendingDeps {
  listings: ListingModel;
  encoder: SentenceEncoder;
}

type Pending = Omit<ListingRecord, "embedding">;

/**
 * Embeds the listings that couldn't be embedded when they were written, or that another model embedded. A listing is
 * pending as long as it lacks its vector, so a process that dies midway loses nothing. While an embedding server is
 * unavailable or the day's tokens are spent, a run ends early.
 * @returns how many were embedded
 */
export async function embedPending(deps: EmbedPendingDeps, log: Logger, signal: AbortSignal): Promise<number> {
  const { listings, encoder } = deps;
  let total = 0;
  // In the order of its index, however many listings wait. Archived ones are never found.
  const pending = listings
    .find({ status: { $in: ["active", "paused"] }, "embedding.model": { $ne: encoder.model } }, { embedding: 0 })
    .sort({ status: 1, "embedding.model": 1, _id: 1 })
    .batchSize(encoder.atOnce)
    .lean()
    .cursor();
  return await embedAll<Pending>({
    encoder,
    pending,
    signal,
    textOf: (record) => ({ text: searchTextOf(toListing(record)), spender: record.sellerAgentId }),
    async store(embedded) {
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
      return modifiedCount;
    },
  });
}
