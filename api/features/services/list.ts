import BigNumber from "bignumber.js";
import { Types } from "mongoose";
import type { QueryFilter } from "mongoose";
import type { z } from "zod";

import { NETWORKS } from "../../config/constants.ts";
import type { Currency, Network } from "../../config/constants.ts";
import type { Caller } from "../../http/define-route.ts";
import { leastOnChainScoreOf } from "../agents/score.ts";
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
  standings: Standings;
}

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
  const conditions = [
    await filterOf(caller, query, standings),
    ...(query.cursor === undefined ? [] : [afterPosition(sort, query.cursor)]),
  ];
  const records = await listings
    .find({ $and: conditions }, { embedding: 0 })
    .sort(ORDERS[sort])
    .limit(query.limit + 1)
    .lean();
  const page = records.slice(0, query.limit).map(toListing);
  const last = page.at(-1);
  const hasMore = records.length > query.limit && last !== undefined;
  return { listings: page, next: hasMore ? positionOf(sort, last) : null };
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

const ORDERS: Readonly<Record<ListingSort, Record<string, 1 | -1>>> = {
  newest: { _id: -1 },
  oldest: { _id: 1 },
  price_asc: { price: 1, _id: 1 },
  price_desc: { price: -1, _id: 1 },
  // Without q there is no relevance: the schema refuses it.
  relevance: { _id: -1 },
};

async function filterOf(caller: Caller, query: ListingQuery, standings: Standings): Promise<Filter> {
  const { category, network, sellerId, currency, deliveryType, minPrice, maxPrice, minTrustScore } = query;
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
      ...(minTrustScore === undefined ? [] : [await trustFilter(minTrustScore, standings)]),
    ],
  };
}

/** Paused and archived listings are out of search for everybody but their seller, who sees all of his own. */
function statusFilter(caller: Caller, { status, sellerId }: ListingQuery): Filter {
  if (status === undefined) return sellerId === caller.agentId ? {} : { status: "active" };
  return status === "active" ? { status } : { status, sellerAgentId: caller.agentId };
}

/** Sellers whose discoveryScore on the listing's network reaches the bound. */
async function trustFilter(minTrustScore: number, standings: Standings): Promise<Filter> {
  const minScore = leastOnChainScoreOf(minTrustScore);
  if (minScore === null) return {};
  const perNetwork = await Promise.all(
    NETWORKS.map(async (network) => ({ network, wallets: await standings.walletsWithScore(network, minScore) })),
  );
  return {
    $or: perNetwork.map(({ network, wallets }) => ({ network, sellerKey: { $in: wallets } })),
  };
}

function afterPosition(sort: ListingSort, { id, price }: ListingPosition): Filter {
  if (id === undefined) return {};
  if (sort === "newest") return { _id: { $lt: id } };
  if (sort === "oldest" || price === undefined) return { _id: { $gt: id } };
  const value = Types.Decimal128.fromString(price);
  const isFurther = sort === "price_asc" ? { price: { $gt: value } } : { price: { $lt: value } };
  return { $or: [isFurther, { price: value, _id: { $gt: id } }] };
}

function positionOf(sort: ListingSort, { id, price }: Listing): ListingPosition {
  return sort === "price_asc" || sort === "price_desc" ? { sort, id, price } : { sort, id };
}

function decimal(value: number): Types.Decimal128 {
  return Types.Decimal128.fromString(new BigNumber(String(value)).toFixed());
}
