import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import { MARKET_INDEX } from "../transactions/model.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { ChainProgress } from "../transactions/ports.ts";
import { KeptTally } from "./kept-tally.ts";
import { MarketTallies } from "./market-figures.ts";
import type { EndedDeal } from "./market-figures.ts";
import { LONGEST_SPAN, MARKET_WINDOWS, marketIdOf, SPANS } from "./market-model.ts";
import type { KeptModels, MarketModel, MarketRecord, MarketWindow, WindowFigures } from "./market-model.ts";
import type { Parties } from "./wash-trading.ts";

/** Durations of the market figures, in milliseconds. Tests shorten them. */
export interface MarketTimings {
  /** From one computation to the next. */
  marketEveryMs: number;
  /** How often a worker checks whether the next one is due. */
  marketPollMs: number;
  /** How long a worker that was killed keeps the others from computing. */
  marketLeaseMs: number;
}

export const MARKET_TIMINGS: MarketTimings = { marketEveryMs: 60_000, marketPollMs: 10_000, marketLeaseMs: 30_000 };

/** First and longest pause after an outage, in milliseconds. */
const RETRY = { minMs: 1_000, maxMs: 60_000 };
/** A computation is due again after this many times its own duration, so it takes at most 5% of a worker's time. */
const IDLE_FACTOR = 20;
/** Escrows whose parties are looked up with one query. */
const PAGE = 1_000;

/** Dependencies of the figures of one network. */
export interface MarketRollupDeps {
  network: Network;
  connection: Connection;
  figures: MarketModel;
  kept: KeptModels;
  transactions: TransactionModel;
  /** How far the copies of the chain's moves have come. */
  reached: ChainProgress["reached"];
  chain: Pick<ChainClient, "block">;
  lease: Lease;
  log: Logger;
  timings: MarketTimings;
}

/** How a step ended. `unreached`: nothing of the chain was read yet; `overtaken`: another worker was faster. */
export type MarketStep = "computed" | "not_due" | "held" | "unreached" | "stopped" | "overtaken";

/** The fields of a transaction that a computation reads; all are in `MARKET_INDEX`. */
interface StoredDeal extends Parties, Pick<EndedDeal, "status" | "category" | "quantity"> {
  lockedAmount: string;
  escrow: Pick<EndedDeal, "createdAt" | "deliveredAt" | "disputedAt" | "settledAt"> & {
    valueUsd: string;
    sellerAmount: string;
  };
}

/** The worker was paused for longer than its lease, and another one computes. */
class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
}

/** Computes the market figures of one network from time to time, and stores them for the route to read. */
export class MarketRollup {
  readonly #deps: MarketRollupDeps;
  readonly #kept: KeptTally;
  readonly loop: BackgroundLoop;

  constructor(deps: MarketRollupDeps) {
    this.#deps = deps;
    const { network, connection, kept, lease, log, timings } = deps;
    this.#kept = new KeptTally(network, connection, kept);
    this.loop = repeat({
      name: `analytics.market.${network}`,
      step: async (signal) => {
        await this.step(signal);
        return timings.marketPollMs;
      },
      retry: RETRY,
      failed: "couldn't compute the market figures",
      lease,
      log,
    });
  }

  /** The database's clock, which is the same for all workers. */
  async #databaseNow(): Promise<Date> {
    const { localTime } = await this.#deps.connection.getClient().db("admin").command({ hello: 1 });
    if (!(localTime instanceof Date)) throw new TypeError("The database doesn't tell its time");
    return localTime;
  }

  async #isDue(now: Date): Promise<boolean> {
    const { network, figures, timings } = this.#deps;
    const last = await figures.findById(marketIdOf(network, "all"), { computedAt: 1, tookMs: 1 }).lean();
    if (last === null) return true;
    return now.getTime() >= last.computedAt.getTime() + Math.max(timings.marketEveryMs, IDLE_FACTOR * last.tookMs);
  }

  /**
   * Escrows that ended in a span (unix seconds, both included) in pages, each with all of its last second. They come from an
   * index, no document is read.
   */
  async *#endedPages(first: number, last: number): AsyncGenerator<(EndedDeal & Parties)[]> {
    const { network, transactions } = this.#deps;
    const cursor = transactions
      .find({ network, "escrow.settledAt": { $gte: first, $lte: last } }, { _id: 0, ...MARKET_INDEX })
      .hint("market")
      .lean<StoredDeal[]>()
      .cursor({ batchSize: PAGE });
    let page: (EndedDeal & Parties)[] = [];
    for await (const stored of cursor) {
      const deal = toDeal(stored);
      if (page.length >= PAGE && page.at(-1)?.settledAt !== deal.settledAt) {
        yield page;
        page = [];
      }
      page.push(deal);
    }
    if (page.length > 0) yield page;
  }

  /** Goes on with a computation unless it was told to stop. @throws LeaseLostError */
  async #mayGoOn(signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted === true) return false;
    if (!(await this.#deps.lease.acquire())) throw new LeaseLostError();
    return true;
  }

  /** Adds to the running tally what ended up to a second of the chain's time. */
  async #keep(last: number, signal: AbortSignal | undefined): Promise<"kept" | "stopped" | "overtaken"> {
    let from = await this.#kept.through();
    // The block is older than the one of the last computation, as after a reorganisation: its escrows would count twice.
    if (from > last) return "overtaken";
    for await (const deals of this.#endedPages(from + 1, last)) {
      if (!(await this.#mayGoOn(signal))) return "stopped";
      const to = deals.at(-1)?.settledAt ?? last;
      if (!(await this.#kept.absorb(deals, { from, to }))) return "overtaken";
      from = to;
    }
    return "kept";
  }

  /** The figures of the windows that end with a second of the chain's time; null if the signal has aborted. */
  async #tally(end: number, signal: AbortSignal | undefined): Promise<Record<MarketWindow, WindowFigures> | null> {
    const tallies = new MarketTallies(end, await this.#kept.tallies());
    const pairs = this.#kept.pairCounts();
    for await (const page of this.#endedPages(end - LONGEST_SPAN + 1, end)) {
      if (!(await this.#mayGoOn(signal))) return null;
      await pairs.load(page);
      for (const deal of page) tallies.add(deal, pairs.take(deal));
    }
    return tallies.figures();
  }

  /** Writes all windows at once, unless another worker has written figures that were started later. */
  async #store(records: readonly MarketRecord[]): Promise<boolean> {
    const { connection, figures } = this.#deps;
    try {
      await withTransaction(connection, async (session) => {
        for (const { _id, ...record } of records) {
          const filter = { _id, computedAt: { $lt: record.computedAt } };
          await figures.updateOne(filter, { $set: record }, { upsert: true, session });
        }
      });
      return true;
    } catch (error) {
      // The stored record is newer, so the upsert tried to insert a second one.
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Computes the figures if they are due and no other worker does. */
  async step(signal?: AbortSignal): Promise<MarketStep> {
    const { network, reached, chain, lease } = this.#deps;
    if (!(await lease.acquire())) return "held";
    const computedAt = await this.#databaseNow();
    if (!(await this.#isDue(computedAt))) return "not_due";
    const indexedBlock = (await reached()).get(network);
    const block = indexedBlock === undefined ? null : await chain.block(indexedBlock);
    if (block === null) return "unreached";
    const startedMs = performance.now();
    const kept = await this.#keep(block.timestamp - LONGEST_SPAN, signal);
    if (kept !== "kept") return kept;
    const windows = await this.#tally(block.timestamp, signal);
    if (windows === null) return "stopped";
    const tookMs = Math.ceil(performance.now() - startedMs);
    const end = secondAfter(block.timestamp);
    const records = MARKET_WINDOWS.map((window): MarketRecord => ({
      _id: marketIdOf(network, window),
      network,
      window,
      indexedBlock: block.number,
      computedAt,
      tookMs,
      start: window === "all" ? null : secondAfter(block.timestamp - SPANS[window]),
      end,
      ...windows[window],
    }));
    return (await this.#store(records)) ? "computed" : "overtaken";
  }
}

/** The end of a second, which is the start of the next one. */
const secondAfter = (unixSeconds: number): Date => new Date((unixSeconds + 1) * 1_000);

function toDeal({ lockedAmount, escrow, ...deal }: StoredDeal): EndedDeal & Parties {
  const { valueUsd, sellerAmount, createdAt, deliveredAt, disputedAt, settledAt } = escrow;
  return {
    buyerAddress: deal.buyerAddress,
    sellerAddress: deal.sellerAddress,
    status: deal.status,
    category: deal.category,
    quantity: deal.quantity,
    valueUsd: BigInt(valueUsd),
    locked: BigInt(lockedAmount),
    sellerAmount: BigInt(sellerAmount),
    createdAt,
    deliveredAt,
    disputedAt,
    settledAt,
  };
}
