import type { IncomingHttpHeaders } from "node:http";

import type { z } from "zod";

import { CachedAnswers } from "../../http/cached-answers.ts";
import type { Network } from "../../config/constants.ts";
import type { RawResult } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { encodeCursor } from "../../http/query-params.ts";
import { Kept } from "../../lib/kept.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { marketAnswer, readMarketFigures } from "../analytics/market-answer.ts";
import type { MarketModel } from "../analytics/market-model.ts";
import { scoresOf } from "../agents/standings.ts";
import type { AgentDirectory } from "../agents/directory.ts";
import { presentPublicListing } from "../discovery/public-listing.ts";
import { toListing } from "../listings/listing.ts";
import { SHOWN } from "../listings/model.ts";
import { agentAnswer } from "./agent-schemas.ts";
import { disputesAnswer } from "./dispute-schemas.ts";
import type { DisputesQuery } from "./dispute-schemas.ts";
import { countOutcomes } from "./outcomes.ts";
import { readPublicAgent } from "./public-agents.ts";
import type { PublicAgentsDeps } from "./public-agents.ts";
import { readPublicDeal } from "./public-deals.ts";
import type { PublicDealsDeps } from "./public-deals.ts";
import { listPublicDisputes } from "./public-disputes.ts";
import type { PublicDisputesDeps } from "./public-disputes.ts";
import { listPublicly } from "./public-listings.ts";
import type { PublicListingsDeps } from "./public-listings.ts";
import { readPublicStatus } from "./public-status.ts";
import type { PublicStatusDeps } from "./public-status.ts";
import { readStatusHistory } from "./status-history.ts";
import type { StatusMinuteModel } from "./status-history.ts";
import { dealAnswer, listingAnswer, listingsAnswer, statusAnswer } from "./schemas.ts";
import type { figuresQuery, ListingsQuery } from "./schemas.ts";

/** Dependencies of the public answers. */
export interface PublicMarketOptions
  extends PublicListingsDeps, Omit<PublicDealsDeps, "indexers">, PublicStatusDeps, PublicDisputesDeps {
  indexers: PublicDealsDeps["indexers"] & PublicAgentsDeps["indexers"];
  figures: MarketModel;
  directory: Pick<AgentDirectory, "byId">;
  minutes: StatusMinuteModel;
  timings: PublicMarketTimings;
}

/** How old public answers may be, in milliseconds. Tests shorten them. */
export interface PublicMarketTimings {
  /** Of figures, listings and agents. */
  publicAnswerMs: number;
  /** Of what moves with each block: deals and the status. */
  publicBlockMs: number;
  /** Of what the status was in the last hours. A record comes each minute. */
  publicHistoryMs: number;
}

export const PUBLIC_MARKET_TIMINGS: PublicMarketTimings = {
  publicAnswerMs: 5_000,
  publicBlockMs: 2_000,
  publicHistoryMs: 20_000,
};

/** Answers that are kept. A page of a hundred long listings has a megabyte, anything else some kilobytes. */
const MOST_LISTS = 30;
const MOST_ENTRIES = 1_000;
/** Agents have up to two hundred changes of their scores and ten listings: about 100 kB. */
const MOST_AGENTS = 200;

/** How long the status waits for its history, in milliseconds. */
const HISTORY_MS = 1_000;

/** What anyone may read of the market. */
export class PublicMarket {
  readonly #options: PublicMarketOptions;
  readonly #figures: CachedAnswers<typeof marketAnswer>;
  readonly #lists: CachedAnswers<typeof listingsAnswer>;
  readonly #listings: CachedAnswers<typeof listingAnswer>;
  readonly #agents: CachedAnswers<typeof agentAnswer>;
  readonly #disputes: CachedAnswers<typeof disputesAnswer>;
  readonly #deals: CachedAnswers<typeof dealAnswer>;
  readonly #status: CachedAnswers<typeof statusAnswer>;
  readonly #history: Kept<Awaited<ReturnType<typeof readStatusHistory>>>;

  constructor(options: PublicMarketOptions) {
    this.#options = options;
    const maxAgeMs = options.timings.publicAnswerMs;
    this.#figures = new CachedAnswers({ schema: marketAnswer, maxAgeMs, maxEntries: MOST_LISTS });
    this.#lists = new CachedAnswers({ schema: listingsAnswer, maxAgeMs, maxEntries: MOST_LISTS });
    this.#listings = new CachedAnswers({ schema: listingAnswer, maxAgeMs, maxEntries: MOST_ENTRIES });
    this.#agents = new CachedAnswers({ schema: agentAnswer, maxAgeMs, maxEntries: MOST_AGENTS });
    this.#disputes = new CachedAnswers({ schema: disputesAnswer, maxAgeMs, maxEntries: MOST_LISTS });
    const blockMs = options.timings.publicBlockMs;
    this.#deals = new CachedAnswers({ schema: dealAnswer, maxAgeMs: blockMs, maxEntries: MOST_ENTRIES });
    this.#status = new CachedAnswers({ schema: statusAnswer, maxAgeMs: blockMs, maxEntries: 1 });
    const { minutes, now, timings } = options;
    const readHistory = () => readStatusHistory(minutes, now());
    this.#history = new Kept(() => withTimeout("status history", HISTORY_MS, readHistory), timings.publicHistoryMs);
  }

  figures(query: z.output<typeof figuresQuery>, requested: IncomingHttpHeaders): Promise<RawResult> {
    return this.#figures.answer(query.window, requested, () => readMarketFigures(this.#options.figures, query));
  }

  listings(query: ListingsQuery, requested: IncomingHttpHeaders): Promise<RawResult> {
    return this.#lists.answer(JSON.stringify(query), requested, async () => {
      const { listings, next } = await listPublicly(query, this.#options);
      return {
        success: true,
        data: listings.map(({ listing, score }) => presentPublicListing(listing, score)),
        nextCursor: next === null ? null : encodeCursor(next),
      };
    });
  }

  /** An active listing. @throws ApiError `not_found` */
  listing(id: string, requested: IncomingHttpHeaders): Promise<RawResult> {
    return this.#listings.answer(id, requested, () => this.#readListing(id));
  }

  /** A wallet with what the chains know about it. @throws ApiError `not_found`; IndexerUnavailableError */
  agent(wallet: string, requested: IncomingHttpHeaders): Promise<RawResult> {
    return this.#agents.answer(wallet, requested, () => readPublicAgent(wallet, this.#options));
  }

  /** A deal by its escrow's id, lower case. @throws ApiError `not_found`; IndexerUnavailableError */
  deal(id: `0x${string}`, network: Network | undefined, requested: IncomingHttpHeaders): Promise<RawResult> {
    return this.#deals.answer(`${id}:${network ?? ""}`, requested, () => readPublicDeal(id, network, this.#options));
  }

  /** Disputes that have ended, the newest first. */
  disputes(query: DisputesQuery, requested: IncomingHttpHeaders): Promise<RawResult> {
    return this.#disputes.answer(JSON.stringify(query), requested, () => listPublicDisputes(query, this.#options));
  }

  status(requested: IncomingHttpHeaders): Promise<RawResult> {
    return this.#status.answer("", requested, async () => {
      const status = await readPublicStatus(this.#options);
      // Without the database the rest is still told.
      const history = status.database === "ok" ? await this.#history.get().catch(() => null) : null;
      return { success: true, data: { ...status, history } };
    });
  }

  async #readListing(id: string): Promise<z.input<typeof listingAnswer>> {
    const { listings, transactions, directory, standings } = this.#options;
    const record = await listings.findOne({ _id: id, status: "active", ...SHOWN }, { embedding: 0 }).lean();
    if (record === null) throw new ApiError("not_found", { details: { serviceId: id } });
    const listing = toListing(record);
    const [seller, scores, outcomes] = await Promise.all([
      directory.byId(listing.sellerAgentId),
      scoresOf(standings, listing.sellerAddress),
      countOutcomes(transactions, listing),
    ]);
    return {
      success: true,
      data: {
        ...presentPublicListing(listing, scores[listing.network]),
        seller: {
          agentId: seller._id,
          walletAddress: seller.walletAddress,
          name: seller.agentName,
          description: seller.description,
          scores,
        },
        outcomes,
      },
    };
  }
}
