import type { EtherPrice } from "../../chain/ether-price.ts";
import { CURRENCIES } from "../../config/constants.ts";
import type { Logger } from "../../lib/logger.ts";
import { DeadlineExceededError } from "../../lib/timeout.ts";
import { leastOnChainScoreOf } from "../agents/score.ts";
import type { Standings } from "../agents/standings.ts";
import type { ListingSearch, SearchFilter } from "../listings/list.ts";
import type { Listing } from "../listings/listing.ts";
import { priceRanges } from "../listings/price-filter.ts";
import type { CategoryFit } from "./category-fit.ts";
import type { DatabaseSearch, StoredFilter } from "./database-search.ts";
import { encodeQuery, withinLimit } from "../../search/encode-query.ts";
import type { SentenceEncoder } from "../../search/embedding/encoder.ts";
import { IndexUnavailableError } from "../../search/index/index-reader.ts";
import type { IndexReader } from "../../search/index/index-reader.ts";
import { listingFormat } from "./listing-format.ts";
import type { ListingFilter } from "./listing-format.ts";
import { scoreStepOf } from "./merit.ts";
import { rank } from "./ranking.ts";
import type { RankedMatch } from "./ranking.ts";
import { MOST_CANDIDATES, rankBest } from "./rank-best.ts";
import type { SearchRound } from "./rank-best.ts";
import { rate } from "./rate.ts";
import type { RankingFacts } from "./rate.ts";
import type { SearchQuery } from "../../search/engine/match.ts";
import type { StoredListings } from "./stored-listings.ts";

/** Semantic search for active services. */
export interface DiscoverService extends ListingSearch {
  /**
   * At most `limit`, best first. @throws ApiError `search_unavailable`; ChainUnavailableError, PriceUnavailableError
   */
  discover(query: string, filter: SearchFilter, limit: number): Promise<RankedMatch[]>;
  /** The same, with what the answer was chosen from. */
  survey(query: string, filter: SearchFilter, limit: number): Promise<Survey>;
}

/** A search, with what it compared. */
export interface Survey {
  /** The answer, best first. */
  results: RankedMatch[];
  /** Every listing that was ranked, best first, as the index has it. What couldn't be among the results may be missing. */
  ranked: readonly RankedMatch[];
  query: SearchQuery;
  facts: RankingFacts;
}

/** Dependencies of discovery. */
export interface DiscoverServiceDeps {
  encoder: Pick<SentenceEncoder, "encode">;
  loadCategoryFit: () => Promise<CategoryFit>;
  index: Pick<IndexReader<Listing, ListingFilter>, "find">;
  /** Answers while the index can't be read. */
  database: DatabaseSearch;
  stored: Pick<StoredListings, "active">;
  standings: Pick<Standings, "of">;
  etherPrice: EtherPrice;
  /** Milliseconds of a monotonic clock. */
  elapsedMs?: () => number;
  log: Logger;
}

/** A search as the caller wants it. */
interface Request {
  query: SearchQuery;
  filter: StoredFilter;
  /** Minimum on-chain score of the seller; null for any. */
  minScore: number | null;
  facts: RankingFacts;
  limit: number;
}

/** Candidates of the first search: a minimum, and a number for each answer that the caller wants. Few of them are read. */
const LEAST_CANDIDATES = 800;
const CANDIDATES_PER_ANSWER = 16;
/** Known listings of a seller after which its others are left out: a share of those candidates. */
const ENOUGH_OF_SELLER = 1 / 4;
/** Timeout of an index search: ten times the slowest one among a million listings. It covers an object store that doesn't answer. */
const SEARCH_LIMIT_MS = 10_000;
/** A failed index search that took this long pauses index searches of this process for `INDEX_PAUSE_MS`. */
const SLOW_FAILURE_MS = 1_000;
const INDEX_PAUSE_MS = 5_000;

/** Discovery of the listings in an index. Filters apply before the ranking. */
export function createDiscoverService(deps: DiscoverServiceDeps): DiscoverService {
  const { encoder, loadCategoryFit, index, database, stored, standings, etherPrice, log } = deps;
  const { elapsedMs = () => performance.now() } = deps;
  let pausedUntil = 0;

  async function survey(text: string, filter: SearchFilter, limit: number): Promise<Survey> {
    const { category, network, sellerId, currency, deliveryType, minTrustScore = 0, maxPrice } = filter;
    const prices = await priceRanges(filter, currency === undefined ? CURRENCIES : [currency], etherPrice);
    const encoding = encodeQuery(encoder, text, log);
    const request: Request = {
      query: { text, encoding },
      limit,
      minScore: leastOnChainScoreOf(minTrustScore),
      filter: { category, network, sellerId, currency, deliveryType, prices },
      facts: { categoryFit: await loadCategoryFit(), budgets: maxPrice === undefined ? [] : (prices ?? []) },
    };
    let ranked = (await searchIndex(request)) ?? (await searchDatabase(request));
    let results = await confirm(ranked, request.filter, limit);
    // Some of the first have just been changed, and those that take their places may be unread.
    const gone = ranked.length - results.length;
    if (results.length < limit && ranked.length >= limit) {
      ranked = (await searchIndex({ ...request, limit: limit + gone })) ?? ranked;
      results = await confirm(ranked, request.filter, limit);
    }
    return { ...request, ranked, results };
  }

  /** Searches the index. Best first; undefined while it can't be read. */
  async function searchIndex(request: Request): Promise<RankedMatch[] | undefined> {
    const startedAt = elapsedMs();
    if (startedAt < pausedUntil) return undefined;
    try {
      return await rankIndexed(request);
    } catch (error) {
      if (!(error instanceof IndexUnavailableError || error instanceof DeadlineExceededError)) throw error;
      log.error({ err: error }, "couldn't search the index of listings; searching the database");
      const failedAt = elapsedMs();
      if (failedAt - startedAt > SLOW_FAILURE_MS) pausedUntil = failedAt + INDEX_PAUSE_MS;
      return undefined;
    }
  }

  async function rankIndexed({ query, filter, minScore, facts, limit }: Request): Promise<RankedMatch[]> {
    const minScoreStep = minScore === null ? undefined : scoreStepOf(minScore);
    const enough = Math.min(Math.max(limit * CANDIDATES_PER_ANSWER, LEAST_CANDIDATES), MOST_CANDIDATES);

    const search: SearchRound = async ({ most, minMerit, leftOut }, work) => {
      const searching = index.find(
        query,
        { ...filter, minScoreStep, minMerit, leftOut },
        most,
        ({ read, ...found }) =>
          work({ ...found, read: async (candidates) => rate(await read(candidates), standings, facts) }),
        { isNarrow: minMerit !== undefined },
      );
      return await withinLimit("the search index", SEARCH_LIMIT_MS, query.encoding, searching);
    };

    return await rankBest(search, {
      limit,
      enough,
      hasBudget: facts.budgets.length > 0,
      isWanted: ({ history }) => minScore === null || history.score >= minScore,
      // A search for one seller's listings is for all of them.
      enoughOfSeller: filter.sellerId === undefined ? enough * ENOUGH_OF_SELLER : Infinity,
    });
  }

  async function searchDatabase({ query, filter, minScore, facts }: Request): Promise<RankedMatch[]> {
    const rated = await rate(await database.search(query, filter), standings, facts);
    return rank(rated.filter(({ history }) => minScore === null || history.score >= minScore));
  }

  /** The first `limit` that are still active and pass the filter, as they are now. */
  async function confirm(ranked: readonly RankedMatch[], filter: StoredFilter, limit: number): Promise<RankedMatch[]> {
    const confirmed: RankedMatch[] = [];
    for (let position = 0; confirmed.length < limit && position < ranked.length;) {
      const asked = ranked.slice(position, position + limit - confirmed.length);
      const present = await stored.active(asked.map(({ listing }) => listing.id));
      for (const match of asked) {
        const listing = present.get(match.listing.id);
        if (listing !== undefined && listingFormat.passes(listing, filter)) confirmed.push({ ...match, listing });
      }
      position += asked.length;
    }
    return confirmed;
  }

  const discover: DiscoverService["discover"] = async (...args) => (await survey(...args)).results;

  return {
    discover,
    survey,
    async find(query, filter, limit) {
      return (await discover(query, filter, limit)).map(({ listing, explanation }) => ({
        id: listing.id,
        explanation,
      }));
    },
  };
}
