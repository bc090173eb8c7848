import { MongoServerError } from "mongodb";
import type { QueryFilter } from "mongoose";
import PQueue from "p-queue";

import { ApiError } from "../../http/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { toListing } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import { pricesWithin } from "../listings/price-filter.ts";
import type { SentenceEncoder } from "./embedding/encoder.ts";
import { vectorOf } from "./embedding/vectors.ts";
import { encodeUnderstood } from "./encode-query.ts";
import type { Match } from "./engine/match.ts";
import { matcherOf, wantedWords } from "./engine/unindexed.ts";
import { listingFormat } from "./listing-format.ts";
import type { ListingFilter } from "./listing-format.ts";

/** What the database can filter by. */
export type StoredFilter = Omit<ListingFilter, "minMerit" | "minScoreStep" | "leftOut">;

/** Finds listings in the database, for as long as the index can't be read. */
export interface DatabaseSearch {
  /** The model whose vectors are compared. A listing with a vector of another one is found by its words. */
  model: string;
  /**
   * The listings that pass the filter and answer the query, of those that share the most words with it.
   * @throws ApiError `search_unavailable` if that takes the database too long, or the query can't be encoded
   */
  search(text: string, filter: StoredFilter): Promise<Match<Listing>[]>;
}

/** Dependencies of the search. */
export interface DatabaseSearchDeps {
  listings: ListingModel;
  encoder: SentenceEncoder;
  log: Logger;
}

/** How many listings are compared. Each takes about 3 kB. */
const CANDIDATES = 1_000;
/** The database looks up each word. A request may have two hundred. */
const MOST_WORDS = 32;
/**
 * How long a search may take, waiting included. The database reads every listing that has one of the words, and remembers them
 * until it knows the best.
 */
const LIMIT_MS = 5_000;
/** More searches of a process wait. */
const MOST_AT_ONCE = 4;
const MAX_TIME_EXPIRED = 50;

/**
 * Searches the database's index of words, which is kept with the listings, so that a lost index of discovery, or a store that
 * doesn't answer, makes answers slower and less complete, and isn't an outage: a listing that shares no word with the query is missing.
 */
export function createDatabaseSearch({ listings, encoder, log }: DatabaseSearchDeps): DatabaseSearch {
  const { model } = encoder;
  const queue = new PQueue({ concurrency: MOST_AT_ONCE });

  /** Listings that pass the filter and have some of the words, those first that have the most. */
  async function find(words: readonly string[], filter: StoredFilter): Promise<ListingRecord[]> {
    const endsAt = performance.now() + LIMIT_MS;
    const limit = AbortSignal.timeout(LIMIT_MS);
    const read = () =>
      listings
        // Words alone: a minus or quotes would have a meaning.
        .find({ $text: { $search: words.join(" ") }, ...conditionOf(filter) })
        .sort({ score: { $meta: "textScore" } })
        .limit(CANDIDATES)
        .maxTimeMS(Math.max(1, Math.ceil(endsAt - performance.now())))
        .lean<ListingRecord[]>();
    try {
      return await queue.add(read, { signal: limit });
    } catch (error) {
      const isLate = limit.aborted || (error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED);
      throw isLate ? new ApiError("search_unavailable", { retryAfterSeconds: 2, cause: error }) : error;
    }
  }

  return {
    model,
    async search(text, filter) {
      const words = wantedWords(text).slice(0, MOST_WORDS);
      if (words.length === 0) return [];
      const match = matcherOf(listingFormat, text, await encodeUnderstood(encoder, text, log));
      return (await find(words, filter)).flatMap((record) => {
        const { embedding } = record;
        return match(toListing(record), embedding?.model === model ? vectorOf(embedding.vector) : null) ?? [];
      });
    },
  };
}

function conditionOf({ category, network, sellerId, currency, deliveryType, prices }: StoredFilter) {
  const fields = { category, network, sellerAgentId: sellerId, currency, deliveryType };
  return {
    status: "active",
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
    ...(prices === undefined ? {} : prices.length === 0 ? NOTHING : { $or: prices.map(pricesWithin) }),
  } satisfies QueryFilter<ListingRecord>;
}

const NOTHING = { _id: { $in: [] as string[] } };
