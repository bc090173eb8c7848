import { Types } from "mongoose";
import type { QueryFilter } from "mongoose";
import type { z } from "zod";

import type { EtherPrice } from "../../chain/ether-price.ts";
import { CURRENCIES, DELIVERY_TYPES, NETWORKS, SERVICE_STATUSES } from "../../config/constants.ts";
import type { Currency, Network } from "../../config/constants.ts";
import type { Caller } from "../../http/define-route.ts";
import { leastOnChainScoreOf } from "../agents/score.ts";
import { NEW_STANDING } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import type { ExplanationParts } from "./explanation.ts";
import { toListing } from "./listing.ts";
import type { Listing } from "./listing.ts";
import { SHOWN } from "./model.ts";
import type { DeliveryType, ListingModel, ListingRecord } from "./model.ts";
import { pricesWithin, priceRanges } from "./price-filter.ts";
import type { PriceRange, UsdBounds } from "./price-filter.ts";
import { readRanges } from "./range-reader.ts";
import type { ListingRange } from "./range-reader.ts";
import { sortOf } from "./schemas.ts";
import type { ListingPosition, ListingSort, listListingsQuery } from "./schemas.ts";

export type ListingQuery = z.output<typeof listListingsQuery>;

/** A page of listings and the position where the next page starts. */
export interface ListingPage {
  listings: Listing[];
  /** For a search: the explanation of each listing's rank, by the listing's id. */
  explanations?: ReadonlyMap<string, ExplanationParts>;
  next: ListingPosition | null;
}

/** The filters that a search applies before ranking. */
export interface SearchFilter extends UsdBounds {
  category?: string | undefined;
  network?: Network | undefined;
  sellerId?: string | undefined;
  currency?: Currency | undefined;
  deliveryType?: DeliveryType | undefined;
  /** Minimum discoveryScore of the seller on the listing's network. */
  minTrustScore?: number | undefined;
}

/** Finds active listings by meaning. */
export interface ListingSearch {
  /** The best listings, best first, at most `limit`. */
  find(
    query: string,
    filter: SearchFilter,
    limit: number,
  ): Promise<readonly { id: string; explanation: ExplanationParts }[]>;
}

/** Dependencies of listing lists. */
export interface ListDeps {
  listings: ListingModel;
  search: ListingSearch;
  standings: Pick<Standings, "of">;
  etherPrice: EtherPrice;
}

/** Number of listings read at once when sellers are filtered by score. */
const RATED_AT_ONCE = 500;
/**
 * Maximum number of listings read for one page. The page may then be short; its cursor continues where reading ended.
 */
const RATED_AT_MOST = 5_000;

/** Lists or searches listings. */
export async function listListings(caller: Caller, query: ListingQuery, deps: ListDeps): Promise<ListingPage> {
  return query.q === undefined ? listStored(caller, query, deps) : listFound(query.q, query, deps);
}

async function listStored(caller: Caller, query: ListingQuery, deps: ListDeps): Promise<ListingPage> {
  const { listings, standings, etherPrice } = deps;
  const sort = sortOf(query);
  const wanted = query.limit + 1;
  const minScore = leastOnChainScoreOf(query.minTrustScore ?? 0);
  const atOnce = minScore === null ? wanted : RATED_AT_ONCE;
  const prices = await priceRanges(query, query.currency === undefined ? CURRENCIES : [query.currency], etherPrice);
  const found: Listing[] = [];
  let position = query.cursor;
  for (let read = atOnce; ; read += atOnce) {
    const ranges = listingRanges(caller, query, prices, position);
    const { listings: listed, readTo } = await readRanges(listings, ranges, sort, atOnce);
    found.push(...(minScore === null ? listed : await withScore(listed, minScore, standings)));
    if (found.length >= wanted) break;
    if (readTo !== undefined) return { listings: found, next: { sort, id: readTo } };
    const last = listed.at(-1);
    if (last === undefined || listed.length < atOnce) break;
    position = positionOf(sort, last);
    if (read >= RATED_AT_MOST) return { listings: found, next: position };
  }
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const hasMore = found.length > query.limit && last !== undefined;
  return { listings: page, next: hasMore ? positionOf(sort, last) : null };
}

/** The listings whose seller has at least this on-chain score on the listing's network. */
async function withScore(listed: Listing[], minScore: number, standings: ListDeps["standings"]): Promise<Listing[]> {
  const networks = [...new Set(listed.map(({ network }) => network))];
  const scores = await Promise.all(
    networks.map(async (network) => {
      const sellers = listed.filter((listing) => listing.network === network).map((listing) => listing.sellerAddress);
      return [network, await standings.of(network, [...new Set(sellers)])] as const;
    }),
  );
  const byNetwork = new Map(scores);
  return listed.filter(({ network, sellerAddress }) => {
    const { score } = byNetwork.get(network)?.get(sellerAddress.toLowerCase()) ?? NEW_STANDING;
    return score >= minScore;
  });
}

async function listFound(text: string, query: ListingQuery, { listings, search }: ListDeps): Promise<ListingPage> {
  const offset = query.cursor?.offset ?? 0;
  const end = offset + query.limit;
  const found = await search.find(text, query, end + 1);
  const page = found.slice(offset, end);
  const pageIds = page.map(({ id }) => id);
  const records = await listings.find({ _id: { $in: pageIds }, status: "active", ...SHOWN }, { embedding: 0 }).lean();
  const byId = new Map(records.map((record) => [record._id, toListing(record)]));
  return {
    listings: pageIds.flatMap((id) => byId.get(id) ?? []),
    explanations: new Map(page.map(({ id, explanation }) => [id, explanation])),
    next: end < found.length ? { sort: "relevance", offset: end } : null,
  };
}

type Filter = QueryFilter<ListingRecord>;
/** The orders of stored listings. Each is the order of an index, read forwards or backwards. */
const LISTING_ORDERS: Readonly<Record<ListingSort, ListingRange["order"]>> = {
  newest: { _id: -1 },
  oldest: { _id: 1 },
  price_asc: { price: 1, _id: 1 },
  price_desc: { price: -1, _id: -1 },
  // Never used: the schema accepts relevance only with q.
  relevance: { _id: -1 },
};

/**
 * The stored listings that match a query, apart from the seller's score, as ranges whose first entries make up the
 * page. Each range gives every field of its index a value, or all values if the query omits it. The database can then
 * merge ordered ranges instead of scanning excluded listings (see the indexes in model.ts).
 */
export function listingRanges(
  caller: Caller,
  query: ListingQuery,
  prices: readonly PriceRange[] | undefined,
  position: ListingPosition | undefined,
): ListingRange[] {
  const seller = sellerAndStatuses(caller, query);
  if (seller === undefined) return [];
  const { category, network, currency, deliveryType } = query;
  const also = seller.sellerAgentId === caller.agentId ? {} : SHOWN;
  const fields: Filter = {
    ...(category === undefined ? {} : { category }),
    ...seller,
    network: { $in: network === undefined ? NETWORKS : [network] },
    deliveryType: { $in: deliveryType === undefined ? DELIVERY_TYPES : [deliveryType] },
  };
  const inCurrencies: { currency: object; price: object }[] =
    prices === undefined
      ? [{ currency: { $in: currency === undefined ? CURRENCIES : [currency] }, price: {} }]
      : prices.map(pricesWithin);
  return inCurrencies.flatMap((inCurrency) =>
    afterPosition(sortOf(query), position).map(({ price: afterPrice, order, ...after }) => {
      const price = { ...inCurrency.price, ...afterPrice };
      const isPriced = Object.keys(price).length > 0;
      return {
        filter: { ...fields, currency: inCurrency.currency, ...(isPriced ? { price } : {}), ...after },
        order,
        also,
      };
    }),
  );
}

/**
 * The filter by seller and status. Paused and archived listings are visible only to their seller.
 * @returns undefined if the query asks for another seller's hidden listings
 */
function sellerAndStatuses(caller: Caller, { status, sellerId }: ListingQuery): Filter | undefined {
  const isOwn = sellerId === caller.agentId;
  const isHidden = status !== undefined && status !== "active";
  if (isHidden && sellerId !== undefined && !isOwn) return undefined;
  const seller = isHidden ? caller.agentId : sellerId;
  const statuses = status === undefined ? (isOwn ? SERVICE_STATUSES : (["active"] as const)) : [status];
  return { ...(seller === undefined ? {} : { sellerAgentId: seller }), status: { $in: statuses } };
}

/** The ranges after a position in a list. After a price come the other listings at the same price, then the next prices. */
function afterPosition(
  sort: ListingSort,
  position: ListingPosition | undefined,
): { price?: object; _id?: object; order: ListingRange["order"] }[] {
  const order = LISTING_ORDERS[sort];
  const { id, price } = position ?? {};
  if (id === undefined) return [{ order }];
  const isAscending = sort === "oldest" || sort === "price_asc";
  const beyondId = isAscending ? { $gt: id } : { $lt: id };
  if (price === undefined || !("price" in order)) return [{ _id: beyondId, order }];
  const value = Types.Decimal128.fromString(price);
  return [
    { price: { $eq: value }, _id: beyondId, order: { _id: isAscending ? 1 : -1 } },
    { price: isAscending ? { $gt: value } : { $lt: value }, order },
  ];
}

function positionOf(sort: ListingSort, { id, price }: Listing): ListingPosition {
  return sort === "price_asc" || sort === "price_desc" ? { sort, id, price } : { sort, id };
}
