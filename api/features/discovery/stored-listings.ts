import { ApiError } from "../../http/errors.ts";
import { toListing } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import { SHOWN } from "../listings/model.ts";
import type { ListingModel } from "../listings/model.ts";
import { toVector } from "../../search/embedding/vectors.ts";

/** A listing with its vector; null until the current encoder has read its text. */
export interface ListingWithVector {
  listing: Listing;
  vector: Float32Array | null;
}

/** The listings as the database has them now. */
export interface StoredListings {
  /** The active ones of these ids. */
  active(ids: readonly string[]): Promise<ReadonlyMap<string, Listing>>;
  /** An active listing of a seller. @throws ApiError `not_found`, `wrong_role`, `service_not_active` */
  own(sellerAgentId: string, id: string): Promise<ListingWithVector>;
}

/**
 * Reads listings that a search has found: the index is a second or two behind, and an answer must not be.
 * @param model the current encoder's
 */
export function createStoredListings(listings: ListingModel, model: string): StoredListings {
  return {
    async active(ids) {
      const records = await listings
        .find({ _id: { $in: [...ids] }, status: "active", ...SHOWN }, { embedding: 0 })
        .lean();
      return new Map(records.map((record) => [record._id, toListing(record)]));
    },
    async own(sellerAgentId, id) {
      const record = await listings.findById(id).lean();
      if (record === null) throw new ApiError("not_found", { details: { serviceId: id } });
      const { status, embedding } = record;
      if (record.sellerAgentId !== sellerAgentId) throw new ApiError("wrong_role", { details: { needed: "seller" } });
      if (record.moderation ?? record.suspension) throw new ApiError("listing_hidden");
      if (status !== "active") throw new ApiError("service_not_active", { details: { status } });
      return {
        listing: toListing(record),
        vector: embedding?.model === model ? toVector(embedding.vector) : null,
      };
    },
  };
}
