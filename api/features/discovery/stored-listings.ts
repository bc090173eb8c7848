import { toListing } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import type { ListingModel } from "../listings/model.ts";

/** The listings as the database has them now. */
export interface StoredListings {
  /** The active ones of these ids. */
  active(ids: readonly string[]): Promise<ReadonlyMap<string, Listing>>;
}

/** Reads listings that a search has found: the index is a second or two behind, and an answer must not be. */
export function createStoredListings(listings: ListingModel): StoredListings {
  return {
    async active(ids) {
      const records = await listings.find({ _id: { $in: [...ids] }, status: "active" }, { embedding: 0 }).lean();
      return new Map(records.map((record) => [record._id, toListing(record)]));
    },
  };
}
