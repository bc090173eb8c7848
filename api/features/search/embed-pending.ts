import type { Logger } from "../../lib/logger.ts";
import { searchTextOf, toListing } from "../listings/listing.ts";
import type { ListingModel } from "../listings/model.ts";
import type { SentenceEncoder } from "./encoder.ts";
import { toBytes } from "./vectors.ts";

/** What embedding the rest needs. */
export interface EmbedPendingDeps {
  listings: ListingModel;
  encoder: SentenceEncoder;
}

const BATCH = 50;

/**
 * Embeds the listings that could not be embedded when they were written, or were by another model. The mark of a pending
 * listing is the missing vector itself, so nothing is lost when a process dies on the way.
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
      // A text that was changed meanwhile has been embedded by its change, or waits for the next run.
      const { modifiedCount } = await listings.updateOne({ _id: record._id, revision: record.revision }, { embedding });
      embedded += modifiedCount;
    }
    log.info({ embedded }, "embedded pending listings");
    after = last._id;
  }
}
