import type { Logger } from "../../lib/logger.ts";
import { searchTextOf, toListing } from "../listings/listing.ts";
import type { ListingModel } from "../listings/model.ts";
import type { SentenceEncoder } from "./embedding/encoder.ts";
import { toBytes } from "./embedding/vectors.ts";

/** Dependencies of the job that embeds pending listings. */
export interface EmbedPendingDeps {
  listings: ListingModel;
  encoder: SentenceEncoder;
}

const BATCH = 50;

/**
 * Embeds the listings that couldn't be embedded when they were written, or that another model embedded. A listing is
 * pending as long as it lacks its vector, so a process that dies midway loses nothing.
 * @returns how many were embedded
 */
export async function embedPending(deps: EmbedPendingDeps, log: Logger, signal: AbortSignal): Promise<number> {
  const { listings, encoder } = deps;
  let embedded = 0;
  let after = "";
  for (;;) {
    const pending = await listings
      .find(
        { _id: { $gt: after }, status: { $ne: "archived" }, "embedding.model": { $ne: encoder.model } },
        { embedding: 0 },
      )
      .sort({ _id: 1 })
      .limit(BATCH)
      .lean();
    const last = pending.at(-1);
    if (last === undefined || signal.aborted) return embedded;
    for (const record of pending) {
      const { vector } = await encoder.encode(searchTextOf(toListing(record)));
      const embedding = { model: encoder.model, vector: toBytes(vector) };
      // If the text has changed in the meantime, the change embedded it, or the next run does.
      const { modifiedCount } = await listings.updateOne({ _id: record._id, revision: record.revision }, { embedding });
      embedded += modifiedCount;
    }
    log.info({ embedded }, "embedded pending listings");
    after = last._id;
  }
}
