import { CURRENCIES, DELIVERY_TYPES, NETWORKS } from "../../config/constants.ts";
import { toListing } from "./listing.ts";
import type { Listing } from "./listing.ts";
import { indexOf, SHOWN, WITHHELD } from "./model.ts";
import type { ListingModel } from "./model.ts";

/** What anyone may see of a listing: where its jobs go isn't even read. */
export type PublishedListing = Listing & { endpointUrl: null };

/** The active listings, for those who read them all. */
export interface PublishedListings {
  /** The newest first. */
  newest(limit: number): Promise<PublishedListing[]>;
  /** Ids of the newest with their sellers' wallets in lower case, the newest first. Reads indexes alone, but for the few that are hidden. */
  newestIds(limit: number): Promise<{ id: string; wallet: string }[]>;
}

/** Every range of the index by age that has active listings. The database merges them in order. */
const ACTIVE = {
  status: "active",
  network: { $in: [...NETWORKS] },
  currency: { $in: [...CURRENCIES] },
  deliveryType: { $in: [...DELIVERY_TYPES] },
} as const;

/** Reads the active listings of the database. */
export function createPublishedListings(listings: ListingModel): PublishedListings {
  const hint = indexOf({}, "age");
  return {
    async newest(limit) {
      const hidden = { embedding: 0, endpointUrl: 0 } as const;
      const found = await listings
        .find({ ...ACTIVE, ...SHOWN }, hidden)
        .sort({ _id: -1 })
        .limit(limit)
        .hint(hint)
        .lean();
      return found.map((record) => ({ ...toListing({ ...record, endpointUrl: null }), endpointUrl: null }));
    },
    async newestIds(limit) {
      const found = await listings.find(ACTIVE, { sellerKey: 1 }).sort({ _id: -1 }).limit(limit).hint(hint).lean();
      const withheld = await listings.find(WITHHELD, { _id: 1 }).lean();
      const isWithheld = new Set(withheld.map(({ _id }) => _id));
      return found.flatMap(({ _id, sellerKey }) => (isWithheld.has(_id) ? [] : [{ id: _id, wallet: sellerKey }]));
    },
  };
}
