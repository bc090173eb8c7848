import type { EtherPrice } from "../../chain/ether-price.ts";
import { CURRENCIES, NETWORKS } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { leastOnChainScoreOf } from "../agents/score.ts";
import type { TradingHistory } from "../agents/score.ts";
import { NEW_STANDING } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import type { ListingSearch, SearchFilter } from "../listings/list.ts";
import type { Listing } from "../listings/listing.ts";
import { priceRanges } from "../listings/price-filter.ts";
import type { ListingEmbedder } from "../listings/service.ts";
import type { Encoding, SentenceEncoder } from "./encoder.ts";
import type { ListingIndex } from "./listing-index.ts";
import { isSettled, rank } from "./ranking.ts";
import type { RatedMatch } from "./ranking.ts";
import type { Match } from "./search-index.ts";
import { toBytes } from "./vectors.ts";

/** Finds active services by meaning (specification row 12). */
export interface DiscoverService extends ListingSearch {
  /** Best first, `limit` at most. @throws ApiError `search_unavailable`; ChainUnavailableError, PriceUnavailableError */
  discover(query: string, filter: SearchFilter, limit: number): Promise<RatedMatch[]>;
}

/** What discovery needs. */
export interface DiscoverServiceDeps {
  encoder: SentenceEncoder;
  index: ListingIndex;
  standings: Standings;
  etherPrice: EtherPrice;
  log: Logger;
}

/** Candidates that the first search asks for, at least and for each answer that is wanted. */
const LEAST_CANDIDATES = 200;
const CANDIDATES_PER_ANSWER = 4;
const CANDIDATE_GROWTH = 8;
/** Candidates whose sellers one request looks at, at most: the most relevant ones. */
const MOST_CANDIDATES = 5_000;

/** Discovery over the listings of an index. Filters leave out before anything is ranked. */
export function createDiscoverService(deps: DiscoverServiceDeps): DiscoverService {
  const { encoder, index, standings, etherPrice, log } = deps;

  async function encode(query: string): Promise<Encoding> {
    try {
      return await encoder.encode(query);
    } catch (error) {
      log.error({ err: error }, "a query could not be encoded");
      throw new ApiError("search_unavailable", { retryAfterSeconds: 2, cause: error });
    }
  }

  /**
   * The index knows the relevance alone, the ranking the trust in sellers too, and a minTrustScore may leave out most
   * candidates: more of them are asked for until none beyond them can be among the answers.
   */
  async function discover(text: string, filter: SearchFilter, limit: number): Promise<RatedMatch[]> {
    const { category, network, sellerId, currency, deliveryType } = filter;
    const [encoding, prices] = await Promise.all([
      encode(text),
      priceRanges(filter, currency === undefined ? CURRENCIES : [currency], etherPrice),
    ]);
    const engineFilter = { category, network, sellerId, currency, deliveryType, prices };
    const minScore = leastOnChainScoreOf(filter.minTrustScore ?? 0);
    let candidates = Math.min(Math.max(limit * CANDIDATES_PER_ANSWER, LEAST_CANDIDATES), MOST_CANDIDATES);
    for (;;) {
      const matches = await index.search({ text, encoding }, engineFilter, candidates);
      const rated = await rate(matches, standings);
      const ranked = rank(minScore === null ? rated : rated.filter(({ history }) => history.score >= minScore));
      const isComplete = matches.length < candidates || candidates === MOST_CANDIDATES;
      if (isComplete || isSettled(ranked, limit, matches.at(-1)?.relevance ?? 0)) return ranked.slice(0, limit);
      candidates = Math.min(candidates * CANDIDATE_GROWTH, MOST_CANDIDATES);
    }
  }

  return {
    discover,
    async findIds(query, filter, limit) {
      return (await discover(query, filter, limit)).map(({ listing }) => listing.id);
    },
  };
}

/** Matches with what is known of their sellers on the listing's own network (decision 20). */
async function rate(matches: readonly Match<Listing>[], standings: Standings): Promise<RatedMatch[]> {
  const found = await Promise.all(
    NETWORKS.map(async (network) => {
      const ofNetwork = matches.filter(({ document }) => document.network === network);
      const wallets = [...new Set(ofNetwork.map(({ document }) => document.sellerAddress))];
      return [network, await standings.of(network, wallets)] as const;
    }),
  );
  const byNetwork = new Map(found);
  return matches.map(({ document: listing, relevance }) => {
    const history: TradingHistory =
      byNetwork.get(listing.network)?.get(listing.sellerAddress.toLowerCase()) ?? NEW_STANDING;
    return { listing, relevance, history };
  });
}

/** Embeds listings with the encoder; what fails is logged and left to the job `search.embed-pending`. */
export function createListingEmbedder(encoder: SentenceEncoder, log: Logger): ListingEmbedder {
  return {
    async embed(text) {
      try {
        const { vector } = await encoder.encode(text);
        return { model: encoder.model, vector: toBytes(vector) };
      } catch (error) {
        log.warn({ err: error }, "a listing waits to be embedded");
        return null;
      }
    },
  };
}
