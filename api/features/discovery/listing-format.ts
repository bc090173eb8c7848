import BigNumber from "bignumber.js";

import type { Network } from "../../config/constants.ts";
import { categoryWords } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import type { PriceRange } from "../listings/price-filter.ts";
import type { SearchFilter } from "../listings/list.ts";
import { quoted } from "../../search/engine/table-format.ts";
import type { TableFormat } from "../../search/engine/table-format.ts";
import { listingTextOf, rememberText } from "./listing-text.ts";
import type { ListingText } from "./listing-text.ts";
import { meritOf, qualityOf, stepFactorOf } from "./merit.ts";
import type { SellerSteps } from "./merit.ts";

/** Name of the index of active listings. */
export const LISTING_INDEX = "listings";
/** The part of a listing filter that the search engine applies. An undefined field excludes nothing. */
export interface ListingFilter extends Pick<
  SearchFilter,
  "category" | "network" | "sellerId" | "currency" | "deliveryType"
> {
  /** A listing must be in one of these ranges. */
  prices?: readonly PriceRange[] | undefined;
  /** Listings with less merit are left out (merit.ts). */
  minMerit?: number | undefined;
  /** Sellers below this step of their score are left out. */
  minScoreStep?: number | undefined;
  /** Ids of sellers whose listings on a network are left out. */
  leftOut?: ReadonlyMap<Network, ReadonlySet<string>> | undefined;
}

/** Dates become texts in JSON. */
interface SerializedListing {
  listing: Listing;
  text: Omit<ListingText, "terms"> & { terms: string[] };
}

/** Of a seller that has settled nothing. */
const NEW_SELLER: SellerSteps = { trustStep: 0, scoreStep: 0 };
/** Relative error of the engine's numbers against exact prices. */
const ROUNDING = 1e-9;

/** The engine's table of active listings. */
export const listingFormat: TableFormat<Listing, ListingFilter> = {
  version: 4,
  searched: "listings",
  columns: {
    category: "choice",
    network: "choice",
    currency: "choice",
    deliveryType: "choice",
    sellerAgentId: "key",
    price: "number",
    merit: "number",
    scoreStep: "number",
    // The factors of merit, so that it can be computed again when the seller's trust changes.
    quality: "unindexed number",
    trustStep: "unindexed number",
  },
  factor: "merit",
  toValues(listing) {
    const { category, network, currency, deliveryType, sellerAgentId, price } = listing;
    return {
      category,
      network,
      currency,
      deliveryType,
      sellerAgentId,
      price: Number(price),
      ...computeRankingValues(listing, 1, NEW_SELLER),
    };
  },
  // Words of the title count twice.
  wordsOf: ({ title, description, category }) => [title, title, categoryWords(category), description].join("\n"),
  wordScore: "rarity",
  toCondition,
  passes: (listing, filter) =>
    (filter.category === undefined || filter.category === listing.category) &&
    (filter.network === undefined || filter.network === listing.network) &&
    (filter.sellerId === undefined || filter.sellerId === listing.sellerAgentId) &&
    (filter.currency === undefined || filter.currency === listing.currency) &&
    (filter.deliveryType === undefined || filter.deliveryType === listing.deliveryType) &&
    filter.leftOut?.get(listing.network)?.has(listing.sellerAgentId) !== true &&
    (filter.prices === undefined || filter.prices.some((range) => isWithin(listing, range))),
  // With the ranking's reading of its text, so that a text is read once and not for each search that finds it.
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

/** The values of a row that its listing's ranking depends on, from the listing, its fit in the category and its seller's steps. */
export function computeRankingValues(listing: Listing, categoryFit: number, steps: SellerSteps) {
  const quality = qualityOf(listing, categoryFit);
  return { quality, ...steps, merit: meritOf(quality, steps) };
}

/** A change of rows, in SQL. */
export interface RowUpdate {
  condition: string;
  values: Readonly<Record<"trustStep" | "scoreStep" | "merit", string>>;
}

/** A seller with the current steps of its history. */
export interface SteppedSeller {
  id: string;
  steps: SellerSteps;
}

/** The update of the rows of sellers on a network. All sellers must have the steps of the first. */
export function stepsUpdate(network: Network, sellers: readonly SteppedSeller[]): RowUpdate {
  const { trustStep, scoreStep } = sellers[0]?.steps ?? NEW_SELLER;
  const ids = new Set(sellers.map(({ id }) => id));
  return {
    condition: `${sellersCondition(network, ids)} AND ("trustStep" <> ${trustStep} OR "scoreStep" <> ${scoreStep})`,
    values: {
      trustStep: number(trustStep),
      scoreStep: number(scoreStep),
      // In quotes, it would be a text here.
      merit: `quality * ${number(stepFactorOf(trustStep))}`,
    },
  };
}

/** Without the type, SQL would take a whole number for an integer. */
function number(value: number): string {
  return `CAST(${value} AS DOUBLE)`;
}

function toCondition(filter: ListingFilter): string | undefined | null {
  const { prices, minMerit, minScoreStep, leftOut, sellerId, ...words } = filter;
  const conditions = Object.entries({ ...words, sellerAgentId: sellerId }).flatMap(([column, value]) =>
    value === undefined ? [] : [`"${column}" = ${quoted(value)}`],
  );
  if (prices !== undefined) {
    if (prices.length === 0) return null;
    conditions.push(`(${prices.map(rangeCondition).join(" OR ")})`);
  }
  if (minMerit !== undefined) conditions.push(`"merit" >= ${minMerit * (1 - ROUNDING)}`);
  if (minScoreStep !== undefined) conditions.push(`"scoreStep" >= ${minScoreStep}`);
  for (const [network, sellerIds] of leftOut ?? []) conditions.push(`NOT ${sellersCondition(network, sellerIds)}`);
  return conditions.length === 0 ? undefined : conditions.join(" AND ");
}

function sellersCondition(network: Network, sellerIds: ReadonlySet<string>): string {
  return `("network" = ${quoted(network)} AND "sellerAgentId" IN (${[...sellerIds].map(quoted).join(", ")}))`;
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
