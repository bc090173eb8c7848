import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import { NEW_STANDING } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import { MARKET_INDEX } from "../transactions/model.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { ChainProgress } from "../transactions/ports.ts";
import { isConnected, MarketTallies } from "./market-figures.ts";
import type { EndedDeal } from "./market-figures.ts";
import { MARKET_WINDOWS, marketIdOf } from "./market-model.ts";
import type { MarketModel, MarketRecord, MarketWindow, WindowFigures } from "./market-model.ts";

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
/** Wallets to remember while reading. */
const MOST_WALLETS = 50_000;
const LONGEST: MarketWindow = "30d";

/** Dependencies of the figures of one network. */
export interface MarketRollupDeps {
  network: Network;
  connection: Connection;
  figures: MarketModel;
  transactions: TransactionModel;
  standings: Pick<Standings, "of">;
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
interface StoredDeal extends Pick<EndedDeal, "status" | "category" | "quantity"> {
  buyerAddress: string;
  sellerAddress: string;
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
  readonly loop: BackgroundLoop;

  constructor(deps: MarketRollupDeps) {
    this.#deps = deps;
    const { network, lease, log, timings } = deps;
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
    const last = await figures.findById(marketIdOf(network, LONGEST), { computedAt: 1, tookMs: 1 }).lean();
    if (last === null) return true;
    return now.getTime() >= last.computedAt.getTime() + Math.max(timings.marketEveryMs, IDLE_FACTOR * last.tookMs);
  }

  /** Escrows that ended in a span (unix seconds, both included) in pages. They come from an index, no document is read. */
  async *#endedPages(first: number, last: number): AsyncGenerator<StoredDeal[]> {
    const { network, transactions } = this.#deps;
    const cursor = transactions
      .find({ network, "escrow.settledAt": { $gte: first, $lte: last } }, { _id: 0, ...MARKET_INDEX })
      .hint("market")
      .lean<StoredDeal[]>()
      .cursor({ batchSize: PAGE });
    let page: StoredDeal[] = [];
    for await (const deal of cursor) {
      page.push(deal);
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    yield page;
  }

  /** The figures of the windows that end with a second of the chain's time; null if the signal has aborted. */
  async #tally(end: number, signal: AbortSignal | undefined): Promise<Record<MarketWindow, WindowFigures> | null> {
    const { network, standings, lease } = this.#deps;
    const tallies = new MarketTallies(end);
    const connected = new Map<string, boolean>();
    for await (const page of this.#endedPages(end - MARKET_WINDOWS[LONGEST] + 1, end)) {
      if (signal?.aborted === true) return null;
      if (!(await lease.acquire())) throw new LeaseLostError();
      if (connected.size > MOST_WALLETS) connected.clear();
      const parties = new Set(page.flatMap(({ buyerAddress, sellerAddress }) => [buyerAddress, sellerAddress]));
      const unknown = [...parties].filter((wallet) => !connected.has(wallet));
      const found = await standings.of(network, unknown);
      for (const wallet of unknown) connected.set(wallet, isConnected(found.get(wallet.toLowerCase()) ?? NEW_STANDING));
      for (const { buyerAddress, sellerAddress, ...deal } of page) {
        const counts = connected.get(buyerAddress) === true || connected.get(sellerAddress) === true;
        tallies.add(toDeal(deal), counts);
      }
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
    const windows = await this.#tally(block.timestamp, signal);
    if (windows === null) return "stopped";
    const tookMs = Math.ceil(performance.now() - startedMs);
    const records = Object.entries(MARKET_WINDOWS).map(([name, seconds]): MarketRecord => {
      const window = name as MarketWindow;
      return {
        _id: marketIdOf(network, window),
        network,
        window,
        indexedBlock: block.number,
        computedAt,
        tookMs,
        start: secondAfter(block.timestamp - seconds),
        end: secondAfter(block.timestamp),
        ...windows[window],
      };
    });
    return (await this.#store(records)) ? "computed" : "overtaken";
  }
}

/** The end of a second, which is the start of the next one. */
const secondAfter = (unixSeconds: number): Date => new Date((unixSeconds + 1) * 1_000);

function toDeal({ lockedAmount, escrow, ...deal }: Omit<StoredDeal, "buyerAddress" | "sellerAddress">): EndedDeal {
  const { valueUsd, sellerAmount, createdAt, deliveredAt, disputedAt, settledAt } = escrow;
  return {
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
