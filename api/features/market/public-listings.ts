import type { QueryFilter } from "mongoose";

import { CURRENCIES, DELIVERY_TYPES, NETWORKS } from "../../config/constants.ts";
import type { AgentModels, StandingRecord } from "../agents/model.ts";
import type { Standings } from "../agents/standings.ts";
import { readSellerHistories } from "../discovery/seller-histories.ts";
import { toListing } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import { SHOWN } from "../listings/model.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import { readRanges } from "../listings/range-reader.ts";
import type { ListingsPosition, ListingsQuery, TrustedPosition } from "./schemas.ts";

/** A listing with its seller's score on the listing's network. */
export interface ScoredListing {
  listing: Listing;
  score: number;
}

/** A page of listings and the position where the next one starts; null on the last page. */
export interface PublicPage {
  listings: ScoredListing[];
  next: ListingsPosition | null;
}

/** Dependencies of the public lists. */
export interface PublicListingsDeps {
  listings: ListingModel;
  models: Pick<AgentModels, "agents" | "standings">;
  standings: Pick<Standings, "of">;
}

/** Every value of the fields before the id in the indexes by age, so that they are read in order (see listings/model.ts). */
export const ACTIVE = {
  status: { $in: ["active"] },
  currency: { $in: [...CURRENCIES] },
  deliveryType: { $in: [...DELIVERY_TYPES] },
} as const;
/** Listings of a seller among the most trusted: one with thousands must not be alone there. */
export const MOST_OF_SELLER = 3;
/** Wallets read at once. Many have nothing to sell. */
const WALLETS_AT_ONCE = 200;
/** Wallets read for one page. It may then be short; its cursor continues where reading ended. */
const MOST_WALLETS = 2_000;

/** Lists active listings: the newest, or those of the most trusted sellers. */
export function listPublicly(query: ListingsQuery, deps: PublicListingsDeps): Promise<PublicPage> {
  const { sort, limit, cursor } = query;
  if (sort === "newest") return listNewest(limit, cursor?.sort === "newest" ? cursor.listing : undefined, deps);
  return listTrusted(limit, cursor?.sort === "trusted" ? cursor : undefined, deps);
}

async function listNewest(
  limit: number,
  after: string | undefined,
  { listings, standings }: PublicListingsDeps,
): Promise<PublicPage> {
  const filter: QueryFilter<ListingRecord> = {
    ...ACTIVE,
    network: { $in: NETWORKS },
    ...(after === undefined ? {} : { _id: { $lt: after } }),
  };
  const read = await readRanges(listings, [{ filter, order: { _id: -1 }, also: SHOWN }], "newest", limit + 1);
  const page = read.listings.slice(0, limit);
  const historyOf = await readSellerHistories(standings, page);
  const last = page.at(-1);
  const hasMore = read.listings.length > limit && last !== undefined;
  return {
    listings: page.map((listing) => ({ listing, score: historyOf(listing).score })),
    next: hasMore ? { sort: "newest", listing: last.id } : null,
  };
}

type Trusted = Pick<StandingRecord, "_id" | "walletKey" | "network" | "score" | "trust">;

/** The newest listings of each trusted seller, the most trusted first. Sellers that nobody trusts yet aren't among them. */
async function listTrusted(
  limit: number,
  cursor: TrustedPosition | undefined,
  deps: PublicListingsDeps,
): Promise<PublicPage> {
  const found: (ScoredListing & { at: TrustedPosition })[] = [];
  let position = cursor;
  for (let read = WALLETS_AT_ONCE; ; read += WALLETS_AT_ONCE) {
    const wallets = await readTrusted(position, deps);
    const offered = await readOffers(wallets, deps);
    for (const { _id: standing, trust, score } of wallets) {
      const isResumed = standing === position?.standing && position.listing !== null;
      const after = isResumed ? position?.listing : undefined;
      for (const listing of offered.get(standing) ?? []) {
        if (after !== undefined && after !== null && listing.id >= after) continue;
        found.push({ listing, score, at: { sort: "trusted", trust, standing, listing: listing.id } });
      }
    }
    if (found.length > limit) {
      const page = found.slice(0, limit);
      return { listings: page, next: page.at(-1)?.at ?? null };
    }
    const last = wallets.at(-1);
    if (last === undefined || wallets.length < WALLETS_AT_ONCE) return { listings: found, next: null };
    position = { sort: "trusted", trust: last.trust, standing: last._id, listing: null };
    if (read >= MOST_WALLETS) return { listings: found, next: position };
  }
}

/** The next wallets in the order of their trust. The one of a position comes first again if some of its listings are left. */
async function readTrusted(
  position: TrustedPosition | undefined,
  { models: { standings } }: PublicListingsDeps,
): Promise<Trusted[]> {
  const fields = { walletKey: 1, network: 1, score: 1, trust: 1 } as const;
  const ranges: QueryFilter<StandingRecord>[] = [{ trust: { $gt: 0 } }];
  if (position !== undefined) {
    const { trust, standing, listing } = position;
    const beyond = listing === null ? { $gt: standing } : { $gte: standing };
    // The first is for the planner, which needs the bound of the partial index.
    ranges.splice(0, 1, { trust: { $gt: 0, $eq: trust }, _id: beyond }, { trust: { $gt: 0, $lt: trust } });
  }
  const read: Trusted[] = [];
  for (const range of ranges) {
    const limit = WALLETS_AT_ONCE - read.length;
    if (limit === 0) break;
    read.push(...(await standings.find(range, fields).sort({ trust: -1, _id: 1 }).limit(limit).lean<Trusted[]>()));
  }
  return read;
}

/** The newest active listings of each wallet on its network, by the standing's id, with a query for each network. */
async function readOffers(
  wallets: readonly Trusted[],
  { listings, models: { agents } }: PublicListingsDeps,
): Promise<ReadonlyMap<string, Listing[]>> {
  const parts = await Promise.all(
    NETWORKS.map(async (network) => {
      const there = wallets.filter((wallet) => wallet.network === network);
      if (there.length === 0) return [];
      const sellers = await agents.aggregate<{ walletKey: string; offers: Omit<ListingRecord, "embedding">[] }>([
        { $match: { walletKey: { $in: there.map(({ walletKey }) => walletKey) } } },
        {
          $lookup: {
            from: listings.collection.name,
            localField: "_id",
            foreignField: "sellerAgentId",
            pipeline: [
              { $match: { ...ACTIVE, ...SHOWN, network: { $in: [network] } } },
              { $sort: { _id: -1 } },
              { $limit: MOST_OF_SELLER },
              { $project: { embedding: 0 } },
            ],
            as: "offers",
          },
        },
        { $match: { "offers.0": { $exists: true } } },
        { $project: { walletKey: 1, offers: 1 } },
      ]);
      const standingOf = new Map(there.map(({ walletKey, _id }) => [walletKey, _id]));
      return sellers.map(({ walletKey, offers }) => [standingOf.get(walletKey) ?? "", offers.map(toListing)] as const);
    }),
  );
  return new Map(parts.flat());
}
