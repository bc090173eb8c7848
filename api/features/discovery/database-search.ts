import { MongoServerError } from "mongodb";
import type { QueryFilter } from "mongoose";
import PQueue from "p-queue";

import { CURRENCIES, DELIVERY_TYPES, NETWORKS } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import { toListing } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import { SHOWN } from "../listings/model.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import { pricesWithin } from "../listings/price-filter.ts";
import { toVector } from "../../search/embedding/vectors.ts";
import type { Match, SearchQuery } from "../../search/engine/match.ts";
import { createMatcher, wantedWords } from "../../search/engine/unindexed.ts";
import { listingFormat } from "./listing-format.ts";
import type { ListingFilter } from "./listing-format.ts";

/** Filters that the database supports. */
export type StoredFilter = Omit<ListingFilter, "minMerit" | "minScoreStep" | "leftOut">;

/** Finds listings in the database, for as long as the index can't be read. */
export interface DatabaseSearch {
  /**
   * The listings that pass the filter and answer the query, of those that share the most words with it, and of the newest.
   * @throws ApiError `search_unavailable` if that takes the database too long
   */
  search(query: SearchQuery, filter: StoredFilter): Promise<Match<Listing>[]>;
}

/** Dependencies of the search. */
export interface DatabaseSearchDeps {
  listings: ListingModel;
  /** The encoder of queries. A listing with a vector of another one is found by its words. */
  model: string;
}

/** How many listings by words are compared, and how many of the newest. Each takes about 3 kB. */
const CANDIDATES = 1_000;
/** Maximum words of a query that the database looks up. A request may have two hundred. */
const MOST_WORDS = 32;
/**
 * How long a search may take, waiting included. The database reads every listing that has one of the words, and remembers them
 * until it knows the best.
 */
const LIMIT_MS = 10_000;
/** Searches of a process at once; others wait. Among a million listings, one took the database up to a gigabyte. */
const MOST_AT_ONCE = 2;
const MAX_TIME_EXPIRED = 50;

/**
 * Searches the database's index of words, which is stored with the listings. A lost discovery index or an unavailable store
 * therefore makes answers slower but causes no outage. Among more than a thousand listings, those that share no word with the
 * query are missing unless they are new.
 */
export function createDatabaseSearch({ listings, model }: DatabaseSearchDeps): DatabaseSearch {
  const queue = new PQueue({ concurrency: MOST_AT_ONCE });

  /** Listings that pass the filter: those that have the most of the words, and the newest if there are few. */
  async function candidates(words: readonly string[], filter: StoredFilter, endsAt: number): Promise<ListingRecord[]> {
    const condition = toCondition(filter);
    const first = (wanted: QueryFilter<ListingRecord>, order: { _id: -1 } | { score: { $meta: "textScore" } }) =>
      listings
        .find({ ...wanted, ...condition })
        .sort(order)
        .limit(CANDIDATES)
        .maxTimeMS(Math.max(1, Math.ceil(endsAt - performance.now())))
        .lean();
    // Words alone: a minus or quotes would have a meaning.
    const text = { $text: { $search: words.join(" ") } };
    const byWords = words.length === 0 ? [] : await first(text, { score: { $meta: "textScore" } });
    if (byWords.length === CANDIDATES) return byWords;
    const newest = await first({}, { _id: -1 });
    return [...new Map([...byWords, ...newest].map((record) => [record._id, record])).values()];
  }

  /** @throws ApiError `search_unavailable` if it takes too long */
  async function inTime(read: (endsAt: number) => Promise<ListingRecord[]>): Promise<ListingRecord[]> {
    const endsAt = performance.now() + LIMIT_MS;
    const limit = AbortSignal.timeout(LIMIT_MS);
    try {
      return await queue.add(() => read(endsAt), { signal: limit });
    } catch (error) {
      const isLate = limit.aborted || (error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED);
      throw isLate ? new ApiError("search_unavailable", { retryAfterSeconds: 2, cause: error }) : error;
    }
  }

  return {
    async search({ text, encoding }, filter) {
      const words = wantedWords(text).slice(0, MOST_WORDS);
      const match = createMatcher(listingFormat, text, await encoding);
      const records = await inTime((endsAt) => candidates(words, filter, endsAt));
      return records.flatMap((record) => {
        const { embedding } = record;
        return match(toListing(record), embedding?.model === model ? toVector(embedding.vector) : null) ?? [];
      });
    },
  };
}

function toCondition({ category, network, sellerId, currency, deliveryType, prices }: StoredFilter) {
  return {
    status: "active",
    ...SHOWN,
    ...(category === undefined ? {} : { category }),
    ...(sellerId === undefined ? {} : { sellerAgentId: sellerId }),
    // All values of a facet that is left open, so that the indexes of lists have the order (listings/model.ts).
    network: { $in: network === undefined ? NETWORKS : [network] },
    deliveryType: { $in: deliveryType === undefined ? DELIVERY_TYPES : [deliveryType] },
    ...(prices === undefined
      ? { currency: { $in: currency === undefined ? CURRENCIES : [currency] } }
      : prices.length === 0
        ? NOTHING
        : { $or: prices.map(pricesWithin) }),
  } satisfies QueryFilter<ListingRecord>;
}

const NOTHING = { _id: { $in: [] as string[] } };
