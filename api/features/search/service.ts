import BigNumber from "bignumber.js";

import { NETWORKS } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { leastOnChainScoreOf } from "../agents/score.ts";
import type { TradingHistory } from "../agents/score.ts";
import { NEW_STANDING } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import type { ListingSearch, SearchFilter } from "../listings/list.ts";
import type { Listing } from "../listings/listing.ts";
import type { ListingEmbedder } from "../listings/service.ts";
import type { Encoding, SentenceEncoder } from "./encoder.ts";
import { rank } from "./ranking.ts";
import type { RatedMatch } from "./ranking.ts";
import type { Match, SearchIndex } from "./search-index.ts";
import { toBytes } from "./vectors.ts";

/** Finds active services by meaning (specification row 12). */
export interface DiscoverService extends ListingSearch {
  /** Best first. @throws ApiError `search_unavailable` */
  discover(query: string, filter: SearchFilter): Promise<RatedMatch[]>;
}

/** What discovery needs. */
export interface DiscoverServiceDeps {
  encoder: SentenceEncoder;
  index: SearchIndex;
  standings: Standings;
  log: Logger;
}

/** Discovery over the listings in memory. Filters leave out before anything is ranked. */
export function createDiscoverService({ encoder, index, standings, log }: DiscoverServiceDeps): DiscoverService {
  async function encode(query: string): Promise<Encoding> {
    try {
      return await encoder.encode(query);
    } catch (error) {
      log.error({ err: error }, "a query could not be encoded");
      throw new ApiError("search_unavailable", { retryAfterSeconds: 2, cause: error });
    }
  }

  async function discover(query: string, filter: SearchFilter): Promise<RatedMatch[]> {
    const matches = index.match(query, await encode(query), (listing) => passes(listing, filter));
    const histories = await historiesOf(matches, standings);
    const rated = matches.map((match) => ({ ...match, history: histories(match.listing) }));
    const minScore = leastOnChainScoreOf(filter.minTrustScore ?? 0);
    return rank(minScore === null ? rated : rated.filter(({ history }) => history.score >= minScore));
  }

  return {
    discover,
    async findIds(query, filter) {
      return (await discover(query, filter)).map(({ listing }) => listing.id);
    },
  };
}

function passes(listing: Listing, filter: SearchFilter): boolean {
  return (
    (filter.category === undefined || filter.category === listing.category) &&
    (filter.network === undefined || filter.network === listing.network) &&
    (filter.sellerId === undefined || filter.sellerId === listing.sellerAgentId) &&
    (filter.currency === undefined || filter.currency === listing.currency) &&
    (filter.deliveryType === undefined || filter.deliveryType === listing.deliveryType) &&
    (filter.minPrice === undefined || new BigNumber(listing.price).gte(String(filter.minPrice))) &&
    (filter.maxPrice === undefined || new BigNumber(listing.price).lte(String(filter.maxPrice)))
  );
}

/** What is known of each match's seller on the listing's own network (decision 20). */
async function historiesOf(
  matches: readonly Match[],
  standings: Standings,
): Promise<(listing: Listing) => TradingHistory> {
  const found = await Promise.all(
    NETWORKS.map(async (network) => {
      const ofNetwork = matches.filter(({ listing }) => listing.network === network);
      const wallets = [...new Set(ofNetwork.map(({ listing }) => listing.sellerAddress))];
      return [network, await standings.of(network, wallets)] as const;
    }),
  );
  const byNetwork = new Map(found);
  return ({ network, sellerAddress }) => byNetwork.get(network)?.get(sellerAddress.toLowerCase()) ?? NEW_STANDING;
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
