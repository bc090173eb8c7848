import type { EtherPrice } from "../../chain/ether-price.ts";
import { CURRENCIES, NETWORKS } from "../../config/constants.ts";
import type { Logger } from "../../lib/logger.ts";
import { leastOnChainScoreOf } from "../agents/score.ts";
import type { TradingHistory } from "../agents/score.ts";
import { NEW_STANDING } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import type { ListingSearch, SearchFilter } from "../listings/list.ts";
import type { Listing } from "../listings/listing.ts";
import { priceRanges, priceShareOf } from "../listings/price-filter.ts";
import type { PriceRange } from "../listings/price-filter.ts";
import { createCategoryFit } from "./category-fit.ts";
import type { CategoryFit } from "./category-fit.ts";
import { encodeQuery } from "./encode-query.ts";
import type { SentenceEncoder } from "./embedding/encoder.ts";
import type { ListingIndex } from "./listing-index.ts";
import { isUnderstood } from "./query-language.ts";
import { isSettled, rank } from "./ranking.ts";
import type { RankedMatch, RatedMatch } from "./ranking.ts";
import type { Match } from "./search-index.ts";

/** Semantic search for active services (specification row 12). */
export interface DiscoverService extends ListingSearch {
  /**
   * At most `limit`, best first. @throws ApiError `search_unavailable`; ChainUnavailableError, PriceUnavailableError
   */
  discover(query: string, filter: SearchFilter, limit: number): Promise<RankedMatch[]>;
}

/** Dependencies of discovery. */
export interface DiscoverServiceDeps {
  encoder: SentenceEncoder;
  index: ListingIndex;
  standings: Standings;
  etherPrice: EtherPrice;
  log: Logger;
}

/** Candidates of the first search: a minimum, and a number for each answer that the caller wants. */
const LEAST_CANDIDATES = 200;
const CANDIDATES_PER_ANSWER = 4;
const CANDIDATE_GROWTH = 8;
/** Maximum number of candidates whose sellers one request reads. The most relevant ones come first. */
const MOST_CANDIDATES = 5_000;

/** Discovery of the listings in an index. Filters apply before the ranking. */
export function createDiscoverService(deps: DiscoverServiceDeps): DiscoverService {
  const { encoder, index, standings, etherPrice, log } = deps;
  const loadCategoryFit = createCategoryFit(encoder, log);

  /**
   * The index orders by relevance alone. The ranking adds what it knows of listing and seller, and minTrustScore may drop most
   * candidates. So the search asks for more candidates until none beyond them can be among the answers.
   */
  async function discover(text: string, filter: SearchFilter, limit: number): Promise<RankedMatch[]> {
    const { category, network, sellerId, currency, deliveryType } = filter;
    const [encoded, categoryFit, prices] = await Promise.all([
      encodeQuery(encoder, text, log),
      loadCategoryFit(),
      priceRanges(filter, currency === undefined ? CURRENCIES : [currency], etherPrice),
    ]);
    const encoding = encoded !== null && isUnderstood(text, encoded) ? encoded : null;
    const facts = { categoryFit, budgets: filter.maxPrice === undefined ? [] : (prices ?? []) };
    const engineFilter = { category, network, sellerId, currency, deliveryType, prices };
    const minScore = leastOnChainScoreOf(filter.minTrustScore ?? 0);
    let candidates = Math.min(Math.max(limit * CANDIDATES_PER_ANSWER, LEAST_CANDIDATES), MOST_CANDIDATES);
    for (;;) {
      const matches = await index.search({ text, encoding }, engineFilter, candidates);
      const rated = await rate(matches, standings, facts);
      const ranked = rank(minScore === null ? rated : rated.filter(({ history }) => history.score >= minScore));
      const isComplete = matches.length < candidates || candidates === MOST_CANDIDATES;
      if (isComplete || isSettled(ranked, limit, matches.at(-1)?.relevance ?? 0)) return ranked.slice(0, limit);
      candidates = Math.min(candidates * CANDIDATE_GROWTH, MOST_CANDIDATES);
    }
  }

  return {
    discover,
    async find(query, filter, limit) {
      return (await discover(query, filter, limit)).map(({ listing, explanation }) => ({
        id: listing.id,
        explanation,
      }));
    },
  };
}

/** What the ranking needs beside matches and standings. */
interface RankingFacts {
  categoryFit: CategoryFit;
  /** The buyer's maximum prices; empty without a maximum. */
  budgets: readonly PriceRange[];
}

/** Adds each seller's history on the listing's own network (decision 20), and how category and price fit. */
async function rate(
  matches: readonly Match<Listing>[],
  standings: Standings,
  { categoryFit, budgets }: RankingFacts,
): Promise<RatedMatch[]> {
  const found = await Promise.all(
    NETWORKS.map(async (network) => {
      const ofNetwork = matches.filter(({ document }) => document.network === network);
      const wallets = [...new Set(ofNetwork.map(({ document }) => document.sellerAddress))];
      return [network, await standings.of(network, wallets)] as const;
    }),
  );
  const byNetwork = new Map(found);
  return matches.map(({ document: listing, ...match }) => {
    const history: TradingHistory =
      byNetwork.get(listing.network)?.get(listing.sellerAddress.toLowerCase()) ?? NEW_STANDING;
    const fit = categoryFit(listing.category, match.vector);
    return { ...match, listing, history, categoryFit: fit, priceShare: priceShareOf(listing, budgets) };
  });
}
