import BigNumber from "bignumber.js";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { categoryWords } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import type { PriceRange } from "../listings/price-filter.ts";
import type { SearchFilter } from "../listings/list.ts";
import { quoted } from "./engine/table-format.ts";
import type { TableFormat } from "./engine/table-format.ts";
import { listingTextOf, rememberText } from "./listing-text.ts";
import type { ListingText } from "./listing-text.ts";

/** Name of the index of active listings. */
export const LISTING_INDEX = "listings";
/**
 * Rises when rows are laid out in another way, or listing-text.ts reads texts in another way. An index of another number is
 * built again.
 */
export const LISTING_FORMAT = 1;

/** The part of a listing filter that the search engine applies. An undefined field excludes nothing. */
export interface ListingFilter extends Pick<
  SearchFilter,
  "category" | "network" | "sellerId" | "currency" | "deliveryType"
> {
  /** A listing must be in one of these ranges. */
  prices?: readonly PriceRange[] | undefined;
  /** Ids of the only sellers whose listings on a network pass. A network that isn't named bounds nothing. */
  sellers?: ReadonlyMap<Network, ReadonlySet<string>> | undefined;
  /** Ids of sellers whose listings on a network are left out. */
  leftOut?: ReadonlyMap<Network, ReadonlySet<string>> | undefined;
}

/** Dates become texts in JSON. */
interface SerializedListing {
  listing: Listing;
  text: Omit<ListingText, "terms"> & { terms: string[] };
}

/** By how much the engine's numbers may differ from exact prices, as a share of them. */
const ROUNDING = 1e-9;

/** How active listings are kept in the engine. */
export const listingFormat: TableFormat<Listing, ListingFilter> = {
  columns: {
    category: "choice",
    network: "choice",
    currency: "choice",
    deliveryType: "choice",
    sellerAgentId: "key",
    price: "number",
  },
  valuesOf: ({ category, network, currency, deliveryType, sellerAgentId, price }) => ({
    ...{ category, network, currency, deliveryType, sellerAgentId, price: Number(price) },
  }),
  // Words of the title count twice.
  wordsOf: ({ title, description, category }) => [title, title, categoryWords(category), description].join("\n"),
  wordScore: "rarity",
  conditionOf,
  passes: (listing, filter) =>
    (filter.category === undefined || filter.category === listing.category) &&
    (filter.network === undefined || filter.network === listing.network) &&
    (filter.sellerId === undefined || filter.sellerId === listing.sellerAgentId) &&
    (filter.currency === undefined || filter.currency === listing.currency) &&
    (filter.deliveryType === undefined || filter.deliveryType === listing.deliveryType) &&
    filter.sellers?.get(listing.network)?.has(listing.sellerAgentId) !== false &&
    filter.leftOut?.get(listing.network)?.has(listing.sellerAgentId) !== true &&
    (filter.prices === undefined || filter.prices.some((range) => isWithin(listing, range))),
  // With what the ranking reads from its text, so that it is read once and not for each search that finds it.
  serialize(listing) {
    const { terms, ...text } = listingTextOf(listing);
    return JSON.stringify({ listing, text: { ...text, terms: [...terms] } } satisfies SerializedListing);
  },
  deserialize(serialized) {
    const { listing: stored, text } = JSON.parse(serialized) as SerializedListing;
    const listing = { ...stored, createdAt: new Date(stored.createdAt), updatedAt: new Date(stored.updatedAt) };
    rememberText(listing, { ...text, terms: new Set(text.terms) });
    return listing;
  },
};

function conditionOf({ prices, sellers, leftOut, sellerId, ...words }: ListingFilter): string | undefined | null {
  const conditions = Object.entries({ ...words, sellerAgentId: sellerId }).flatMap(([column, value]) =>
    value === undefined ? [] : [`"${column}" = ${quoted(value)}`],
  );
  if (prices !== undefined) {
    if (prices.length === 0) return null;
    conditions.push(`(${prices.map(rangeCondition).join(" OR ")})`);
  }
  if (sellers !== undefined && sellers.size > 0) {
    const networks = NETWORKS.filter((network) => sellers.get(network)?.size !== 0);
    if (networks.length === 0) return null;
    conditions.push(`(${networks.map((network) => sellersCondition(network, sellers.get(network))).join(" OR ")})`);
  }
  for (const [network, sellerIds] of leftOut ?? []) conditions.push(`NOT ${sellersCondition(network, sellerIds)}`);
  return conditions.length === 0 ? undefined : conditions.join(" AND ");
}

/** @param sellerIds undefined for all sellers */
function sellersCondition(network: Network, sellerIds: ReadonlySet<string> | undefined): string {
  const isOnNetwork = `"network" = ${quoted(network)}`;
  if (sellerIds === undefined) return isOnNetwork;
  return `(${isOnNetwork} AND "sellerAgentId" IN (${[...sellerIds].map(quoted).join(", ")}))`;
}

function rangeCondition({ currencies, min, max }: PriceRange): string {
  const [least, most] = [Number(min) * (1 - ROUNDING), Number(max) * (1 + ROUNDING)];
  return `("currency" IN (${currencies.map(quoted).join(", ")}) AND "price" >= ${least} AND "price" <= ${most})`;
}

function isWithin({ currency, price }: Listing, { currencies, min, max }: PriceRange): boolean {
  if (!currencies.includes(currency)) return false;
  const value = new BigNumber(price);
  return value.gte(min) && value.lte(max);
}
