import type { EtherPrice } from "../../chain/ether-price.ts";
import { CURRENCIES, NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { DeadlineExceededError } from "../../lib/timeout.ts";
import { discoveryScoreOf, leastOnChainScoreOf } from "../agents/score.ts";
import type { TradingHistory } from "../agents/score.ts";
import { NEW_STANDING } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import type { ListingSearch, SearchFilter } from "../listings/list.ts";
import type { Listing } from "../listings/listing.ts";
import { priceRanges, priceShareOf } from "../listings/price-filter.ts";
import type { PriceRange } from "../listings/price-filter.ts";
import { createCategoryFit } from "./category-fit.ts";
import type { CategoryFit } from "./category-fit.ts";
import { encodeQuery, withinLimit } from "./encode-query.ts";
import type { Encoding, SentenceEncoder } from "./embedding/encoder.ts";
import type { Encoders } from "./embedding/encoders.ts";
import { IndexUnavailableError } from "./index/index-reader.ts";
import type { IndexReader } from "./index/index-reader.ts";
import { listingFormat } from "./listing-format.ts";
import type { ListingFilter } from "./listing-format.ts";
import { isUnderstood } from "./query-language.ts";
import { rank, trustToWin } from "./ranking.ts";
import type { RankedMatch, RatedMatch } from "./ranking.ts";
import type { Match } from "./engine/match.ts";
import type { StoredListings } from "./stored-listings.ts";

/** Semantic search for active services (specification row 12). */
export interface DiscoverService extends ListingSearch {
  /**
   * At most `limit`, best first. @throws ApiError `search_unavailable`; ChainUnavailableError, PriceUnavailableError
   */
  discover(query: string, filter: SearchFilter, limit: number): Promise<RankedMatch[]>;
}

/** Dependencies of discovery. */
export interface DiscoverServiceDeps {
  encoders: Pick<Encoders, "of">;
  index: Pick<IndexReader<Listing, ListingFilter>, "search" | "model">;
  stored: StoredListings;
  standings: Pick<Standings, "of" | "reaching">;
  etherPrice: EtherPrice;
  log: Logger;
}

/** Candidates of the first search: a minimum, and a number for each answer that the caller wants. */
const LEAST_CANDIDATES = 200;
const CANDIDATES_PER_ANSWER = 4;
/** How many times more the second search asks for. Later ones ask for the most. */
const SECOND_SEARCH_GROWTH = 4;
/** Ten times what the slowest search of a million listings took. An object store that no longer answers isn't waited for. */
const SEARCH_LIMIT_MS = 10_000;
/** Maximum number of candidates of one search, whose sellers are read. The most relevant ones come first. */
const MOST_CANDIDATES = 5_000;
/**
 * A search names the sellers that reach a score on a network if there are at most so many. Naming more costs more than
 * looking for them among the most relevant listings.
 */
const MOST_NAMED_SELLERS = 5_000;
/** Of one request. Each leaves out what would fill the next one, so only many floods at once need more. */
const MOST_SEARCHES = 6;

/** Discovery of the listings in an index. Filters apply before the ranking. */
export function createDiscoverService(deps: DiscoverServiceDeps): DiscoverService {
  const { encoders, index, stored, standings, etherPrice, log } = deps;
  /** By the encoder's model. */
  const categoryFits = new Map<string, () => Promise<CategoryFit>>();

  /**
   * The index orders by relevance alone. The ranking adds what it knows of listing and seller, and minTrustScore may drop most
   * candidates. So the search asks for more candidates until none beyond them can be among the answers. What would only fill
   * the next search is left out of it: sellers below minTrustScore, and those of whom enough listings are known, so that one
   * with thousands of copies hides nobody. Where few sellers reach minTrustScore, only theirs are searched. Once only sellers
   * with a certain score could still be among the answers, theirs are searched alone if they are few.
   */
  async function discover(text: string, filter: SearchFilter, limit: number): Promise<RankedMatch[]> {
    const { category, network, sellerId, currency, deliveryType } = filter;
    const networks = network === undefined ? NETWORKS : [network];
    // The one that made the index's vectors; undefined if it can't be asked any more. Then words alone decide.
    const encoder = encoders.of(await reading(index.model()));
    const minScore = leastOnChainScoreOf(filter.minTrustScore ?? 0);
    const encoding = encoder === undefined ? null : encodeUnderstood(encoder, text);
    const [categoryFit, prices, sellers] = await Promise.all([
      encoder === undefined ? anyCategoryFits : categoryFitOf(encoder)(),
      priceRanges(filter, currency === undefined ? CURRENCIES : [currency], etherPrice),
      minScore === null ? undefined : namedSellers(networks, minScore),
    ]);
    const facts = { categoryFit, budgets: filter.maxPrice === undefined ? [] : (prices ?? []) };
    const engineFilter = { category, network, sellerId, currency, deliveryType, prices, sellers };
    const isTrusted = ({ history }: RatedMatch) => minScore === null || history.score >= minScore;
    const enough = Math.min(Math.max(limit * CANDIDATES_PER_ANSWER, LEAST_CANDIDATES), MOST_CANDIDATES);
    // A search for one seller's listings is for all of them.
    const enoughOfSeller = sellerId === undefined ? enough : Infinity;
    const searchesTrusted = minScore === null && sellerId === undefined;
    const leftOut: LeftOut = { sellers: new Map(), best: [] };

    /** The most relevant listings of some or all sellers, but of those that are left out. */
    async function search(most: number, only: ListingFilter["sellers"]): Promise<RatedMatch[]> {
      const wanted = { ...engineFilter, sellers: only, leftOut: leftOut.sellers };
      const searching = index.search({ text, encoding }, wanted, most);
      const matches = await reading(withinLimit("the search index", SEARCH_LIMIT_MS, encoding, searching));
      return rate(matches, standings, facts);
    }

    /** The trust that a seller needs for a listing beyond a search's to be among the answers. */
    const trustBeyond = (ranked: readonly RankedMatch[], rated: readonly RatedMatch[]) =>
      trustToWin(ranked, limit, { relevance: rated.at(-1)?.relevance ?? 0, hasBudget: facts.budgets.length > 0 });

    /** The ranking with the listings of the sellers that have enough trust, if they are few and nothing else can change it. */
    async function withTrusted(ranked: readonly RankedMatch[], rated: readonly RatedMatch[]) {
      const least = leastOnChainScoreOf(trustBeyond(ranked, rated));
      if (least === null) return undefined;
      const trusted = await namedSellers(networks, least);
      if (trusted === undefined || trusted.size < networks.length) return undefined;
      const found = await search(enough, trusted);
      const all = rank(distinct([...leftOut.best, ...rated, ...found]));
      const isWhole = found.length < enough || trustBeyond(all, found) > 1;
      // More offers of a seller may have lowered the ones that were known.
      return isWhole && trustBeyond(all, rated) > discoveryScoreOf(least - 1) ? all : undefined;
    }

    let candidates = enough;
    for (let searches = 1; ; searches += 1) {
      const asked = candidates;
      const rated = await search(asked, sellers);
      const ranked = rank([...leftOut.best, ...rated.filter(isTrusted)]);
      const isComplete = rated.length < asked || searches === MOST_SEARCHES || trustBeyond(ranked, rated) > 1;
      if (isComplete) return await confirm(ranked, engineFilter, limit);
      const complete = searchesTrusted ? await withTrusted(ranked, rated) : undefined;
      if (complete !== undefined) return await confirm(complete, engineFilter, limit);
      const hasLeftOut = leaveOut(leftOut, rated, isTrusted, enoughOfSeller);
      if (asked === MOST_CANDIDATES && !hasLeftOut) return await confirm(ranked, engineFilter, limit);
      candidates = searches === 1 ? Math.min(enough * SECOND_SEARCH_GROWTH, MOST_CANDIDATES) : MOST_CANDIDATES;
    }
  }

  /** Null for a query that the encoder doesn't understand. */
  function encodeUnderstood(encoder: SentenceEncoder, text: string): Promise<Encoding | null> {
    const understood = encodeQuery(encoder, text, log).then((encoded) =>
      encoded !== null && isUnderstood(text, encoded) ? encoded : null,
    );
    // A request may end before anything awaits it.
    understood.catch(() => undefined);
    return understood;
  }

  function categoryFitOf(encoder: SentenceEncoder): () => Promise<CategoryFit> {
    const known = categoryFits.get(encoder.model) ?? createCategoryFit(encoder, log);
    categoryFits.set(encoder.model, known);
    return known;
  }

  /** The sellers that reach a score, on the networks where they are few. */
  async function namedSellers(networks: readonly Network[], score: number): Promise<ListingFilter["sellers"]> {
    const found = await Promise.all(
      networks.map(async (network) => [network, await standings.reaching(network, score, MOST_NAMED_SELLERS)] as const),
    );
    return new Map(found.flatMap(([network, ids]) => (ids === undefined ? [] : [[network, new Set(ids)] as const])));
  }

  /** What is read from the index. @throws ApiError `search_unavailable` */
  async function reading<Result>(read: Promise<Result>): Promise<Result> {
    try {
      return await read;
    } catch (error) {
      if (!(error instanceof IndexUnavailableError || error instanceof DeadlineExceededError)) throw error;
      log.error({ err: error }, "couldn't search");
      throw new ApiError("search_unavailable", { retryAfterSeconds: 2, cause: error });
    }
  }

  /** The first `limit` that are still active and pass the filter, as they are now. */
  async function confirm(ranked: readonly RankedMatch[], filter: ListingFilter, limit: number): Promise<RankedMatch[]> {
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

/** Each listing once. */
function distinct(matches: readonly RatedMatch[]): RatedMatch[] {
  return [...new Map(matches.map((match) => [match.listing.id, match])).values()];
}

/** Without vectors, nothing is known about categories. */
const anyCategoryFits: CategoryFit = () => 1;

/** What the ranking needs beside matches and standings. */
interface RankingFacts {
  categoryFit: CategoryFit;
  /** The buyer's maximum prices; empty without a maximum. */
  budgets: readonly PriceRange[];
}

/** The sellers whose listings later searches of a request leave out. */
interface LeftOut {
  /** Ids, by network. */
  sellers: Map<Network, Set<string>>;
  /** The most relevant listings of those that are trusted. */
  best: RatedMatch[];
}

/**
 * Leaves out sellers that aren't trusted, and those of whom enough listings are known.
 * @param rated the most relevant first
 * @returns whether there were any
 */
function leaveOut(
  { sellers, best }: LeftOut,
  rated: readonly RatedMatch[],
  isTrusted: (match: RatedMatch) => boolean,
  enough: number,
): boolean {
  let hasAny = false;
  const bySeller = Map.groupBy(rated, ({ listing }) => `${listing.sellerAgentId} ${listing.network}`);
  for (const ofSeller of bySeller.values()) {
    const [first] = ofSeller;
    if (first === undefined || (isTrusted(first) && ofSeller.length < enough)) continue;
    const { network, sellerAgentId } = first.listing;
    const ofNetwork = sellers.get(network) ?? new Set<string>();
    sellers.set(network, ofNetwork.add(sellerAgentId));
    if (isTrusted(first)) best.push(...ofSeller.slice(0, enough));
    hasAny = true;
  }
  return hasAny;
}

/** Adds each seller's history on the listing's own network (decision 20), and how category and price fit. */
async function rate(
  matches: readonly Match<Listing>[],
  standings: Pick<Standings, "of">,
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
