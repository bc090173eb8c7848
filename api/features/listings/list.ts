import BigNumber from "bignumber.js";
import { Types } from "mongoose";
import type { QueryFilter } from "mongoose";
import type { z } from "zod";

import type { Currency, Network } from "../../config/constants.ts";
import type { Caller } from "../../http/define-route.ts";
import { leastOnChainScoreOf } from "../agents/score.ts";
import { NEW_STANDING } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import { toListing } from "./listing.ts";
import type { Listing } from "./listing.ts";
import type { DeliveryType, ListingModel, ListingRecord } from "./model.ts";
import { sortOf } from "./schemas.ts";
import type { ListingPosition, ListingSort, listListingsQuery } from "./schemas.ts";

export type ListingQuery = z.output<typeof listListingsQuery>;

/** A page of listings and the place where the next one begins. */
export interface ListingPage {
  listings: Listing[];
  next: ListingPosition | null;
}

/** What a search may leave out before it ranks. */
export interface SearchFilter {
  category?: string | undefined;
  network?: Network | undefined;
  sellerId?: string | undefined;
  currency?: Currency | undefined;
  deliveryType?: DeliveryType | undefined;
  minPrice?: number | undefined;
  maxPrice?: number | undefined;
  /** Least discoveryScore of the seller on the listing's network. */
  minTrustScore?: number | undefined;
}

/** Finds active listings by meaning, best first. */
export interface ListingSearch {
  findIds(query: string, filter: SearchFilter): Promise<string[]>;
}

/** What a list needs. */
export interface ListDeps {
  listings: ListingModel;
  search: ListingSearch;
  standings: Pick<Standings, "of">;
}

/** How many listings are read at once to leave out those of sellers without the score. */
const RATED_AT_ONCE = 500;
/** So many of these at most for one page: it may then be short, and its cursor goes on where they end. */
const RATED_AT_MOST = 5_000;

/** Lists or searches listings (decision 23). */
export async function listListings(caller: Caller, query: ListingQuery, deps: ListDeps): Promise<ListingPage> {
  return query.q === undefined ? listStored(caller, query, deps) : listFound(query.q, query, deps);
}

async function listStored(
  caller: Caller,
  query: ListingQuery,
  { listings, standings }: ListDeps,
): Promise<ListingPage> {
  const sort = sortOf(query);
  const wanted = query.limit + 1;
  const minScore = leastOnChainScoreOf(query.minTrustScore ?? 0);
  const atOnce = minScore === null ? wanted : RATED_AT_ONCE;
  const found: Listing[] = [];
  let position = query.cursor;
  for (let read = atOnce; ; read += atOnce) {
    const records = await listings
      .find(listingsFilter(caller, query, position), { embedding: 0 })
      .sort(LISTING_ORDERS[sort])
      .limit(atOnce)
      .lean();
    const listed = records.map(toListing);
    found.push(...(minScore === null ? listed : await withScore(listed, minScore, standings)));
    const last = listed.at(-1);
    if (last === undefined || listed.length < atOnce || found.length >= wanted) break;
    position = positionOf(sort, last);
    if (read >= RATED_AT_MOST) return { listings: found, next: position };
  }
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  const hasMore = found.length > query.limit && last !== undefined;
  return { listings: page, next: hasMore ? positionOf(sort, last) : null };
}

/** Those listings whose seller has at least this on-chain score on the listing's network (decision 20). */
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
  const ids = await search.findIds(text, query);
  const offset = query.cursor?.offset ?? 0;
  const end = offset + query.limit;
  const pageIds = ids.slice(offset, end);
  const records = await listings.find({ _id: { $in: pageIds }, status: "active" }, { embedding: 0 }).lean();
  const byId = new Map(records.map((record) => [record._id, toListing(record)]));
  return {
    listings: pageIds.flatMap((id) => byId.get(id) ?? []),
    next: end < ids.length ? { sort: "relevance", offset: end } : null,
  };
}

type Filter = QueryFilter<ListingRecord>;

/** The orders of stored listings; each is that of an index, read forwards or backwards. */
export const LISTING_ORDERS: Readonly<Record<ListingSort, Record<string, 1 | -1>>> = {
  newest: { _id: -1 },
  oldest: { _id: 1 },
  price_asc: { price: 1, _id: 1 },
  price_desc: { price: -1, _id: -1 },
  // Without q there is no relevance: the schema refuses it.
  relevance: { _id: -1 },
};

/** What a list asks of the stored listings, the seller's score excepted. */
export function listingsFilter(caller: Caller, query: ListingQuery, position: ListingPosition | undefined): Filter {
  const { category, network, sellerId, currency, deliveryType, minPrice, maxPrice } = query;
  const equal = Object.fromEntries(
    Object.entries({ category, network, sellerAgentId: sellerId, currency, deliveryType }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return {
    $and: [
      equal,
      statusFilter(caller, query),
      ...(minPrice === undefined ? [] : [{ price: { $gte: decimal(minPrice) } }]),
      ...(maxPrice === undefined ? [] : [{ price: { $lte: decimal(maxPrice) } }]),
      ...(position === undefined ? [] : [afterPosition(sortOf(query), position)]),
    ],
  };
}

/** Paused and archived listings are out of search for everybody but their seller, who sees all of his own. */
function statusFilter(caller: Caller, { status, sellerId }: ListingQuery): Filter {
  if (status === undefined) return sellerId === caller.agentId ? {} : { status: "active" };
  return status === "active" ? { status } : { status, sellerAgentId: caller.agentId };
}

function afterPosition(sort: ListingSort, { id, price }: ListingPosition): Filter {
  if (id === undefined) return {};
  if (sort === "newest") return { _id: { $lt: id } };
  if (sort === "oldest" || price === undefined) return { _id: { $gt: id } };
  const value = Types.Decimal128.fromString(price);
  // The first condition says nothing new, but bounds the range of the index whichever way the second one is read.
  return sort === "price_asc"
    ? { price: { $gte: value }, $or: [{ price: { $gt: value } }, { price: value, _id: { $gt: id } }] }
    : { price: { $lte: value }, $or: [{ price: { $lt: value } }, { price: value, _id: { $lt: id } }] };
}

function positionOf(sort: ListingSort, { id, price }: Listing): ListingPosition {
  return sort === "price_asc" || sort === "price_desc" ? { sort, id, price } : { sort, id };
}

function decimal(value: number): Types.Decimal128 {
  return Types.Decimal128.fromString(new BigNumber(String(value)).toFixed());
}
