import BigNumber from "bignumber.js";

import type { SearchFilter } from "../listings/list.ts";
import { categoryWords } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import type { PriceRange } from "../listings/price-filter.ts";
import { createInProcessIndex } from "./in-process-index.ts";
import type { SearchIndex } from "./search-index.ts";

/** The part of a listing filter that the search engine applies. An undefined field excludes nothing. */
export interface ListingFilter extends Pick<
  SearchFilter,
  "category" | "network" | "sellerId" | "currency" | "deliveryType"
> {
  /** A listing must be in one of these ranges. */
  prices?: readonly PriceRange[] | undefined;
}

/** An index of the active listings. */
export type ListingIndex = SearchIndex<Listing, ListingFilter>;

const TITLE_WEIGHT = 2;

/** An index of the active listings in this process's memory. */
export function createListingIndex(): ListingIndex {
  return createInProcessIndex<Listing, ListingFilter>({
    textsOf: ({ title, description, category }) => ({ title, description, category: categoryWords(category) }),
    weights: { title: TITLE_WEIGHT, description: 1, category: 1 },
    passes: (listing, filter) =>
      (filter.category === undefined || filter.category === listing.category) &&
      (filter.network === undefined || filter.network === listing.network) &&
      (filter.sellerId === undefined || filter.sellerId === listing.sellerAgentId) &&
      (filter.currency === undefined || filter.currency === listing.currency) &&
      (filter.deliveryType === undefined || filter.deliveryType === listing.deliveryType) &&
      (filter.prices === undefined || filter.prices.some((range) => isWithin(listing, range))),
  });
}

function isWithin({ currency, price }: Listing, { currencies, min, max }: PriceRange): boolean {
  if (!currencies.includes(currency)) return false;
  const value = new BigNumber(price);
  return value.gte(min) && value.lte(max);
}
