import type { Deployment } from "../../chain/deployment.ts";
import type { SendingChain } from "../../chain/sending-chain.ts";
import { EVENT_SEARCH_BLOCKS, RESOLUTION_TIMEOUT_SECONDS, SENDING_CONFIRMATIONS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { StoredState } from "../../db/stored-state.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import type { createDeliveries } from "./deliveries.ts";
import type { KeeperOrders } from "./orders.ts";
import { failedScoreUpdates } from "./work.ts";

/** Durations of the search for moves. Tests shorten them. */
export interface FinderTimings {
  /** Pause between two searches, in milliseconds. */
  keeperPollMs: number;
}

export const FINDER_TIMINGS: FinderTimings = { keeperPollMs: 5_000 };

/** How long a worker that was killed keeps the others from searching, in milliseconds. */
export const FINDER_LEASE_MS = 15_000;
/** First and longest pause after an outage, in milliseconds. */
const RETRY = { minMs: 1_000, maxMs: 30_000 };
/** Disputes of one page. */
const PAGE = 500;

/** Dependencies of the search on one network. */
export interface FinderDeps {
  network: Network;
  chain: SendingChain;
  deployment: Pick<Deployment, "escrow" | "startBlock">;
  indexer: Pick<Indexer, "disputedBefore">;
  deliveries: ReturnType<typeof createDeliveries>;
  orders: KeeperOrders;
  /** How far the blocks have been searched for failed score updates. */
  cursor: StoredState<{ nextBlock: number }>;
  /** Without a key, no move is queued; buyers are still notified. */
  hasKey: boolean;
  /** Called after something is put into the outbox. */
  onAnnounced: () => void;
  lease: Lease;
  log: Logger;
  timings: FinderTimings;
}

/** The result of a search. */
export interface Found {
  /** Moves that are new in the queue. */
  queued: number;
  /** Buyers who were notified that a payload is overdue. */
  notified: number;
}

/** Searches one network for moves that are open to anyone and that nobody has made. */
export function createFinder(deps: FinderDeps): { step(): Promise<Found>; loop: BackgroundLoop } {
  const { network, chain, deployment, indexer, deliveries, orders, cursor, hasKey, lease, log, timings } = deps;

  async function findFinalizable(chainNow: number): Promise<Found> {
    const found = { queued: 0, notified: 0 };
    for await (const { escrowIds, notified } of deliveries.finalizable(chainNow)) {
      found.notified += notified;
      if (hasKey) found.queued += await orders.put("finalize", escrowIds);
    }
    return found;
  }

  /** Disputes of any wallets, from the subgraph. */
  async function findExpiredDisputes(chainNow: number): Promise<number> {
    let queued = 0;
    let after: `0x${string}` = "0x";
    for (;;) {
      const { escrowIds } = await indexer.disputedBefore(chainNow - RESOLUTION_TIMEOUT_SECONDS, after, PAGE);
      queued += await orders.put("resolveExpired", escrowIds);
      const last = escrowIds.at(-1);
      if (last === undefined || escrowIds.length < PAGE) return queued;
      after = last;
    }
  }

  /** Reads the latest blocks again each time, because a reorganisation may replace them. */
  async function findFailedScores(head: number): Promise<number> {
    const { value, version } = await cursor.read();
    const fromBlock = Math.min(value?.nextBlock ?? deployment.startBlock, head);
    const toBlock = Math.min(head, fromBlock + EVENT_SEARCH_BLOCKS);
    const queued = await orders.put("retryScore", await failedScoreUpdates(chain, deployment, { fromBlock, toBlock }));
    const nextBlock = Math.max(fromBlock, Math.min(toBlock, head - SENDING_CONFIRMATIONS));
    // If another worker has moved it since, the next search goes on from there.
    await cursor.write({ nextBlock: Math.max(value?.nextBlock ?? 0, nextBlock) }, version);
    return queued;
  }

  async function step(): Promise<Found> {
    const { number, timestamp } = await chain.head();
    const found = { queued: 0, notified: await deliveries.notifyOverdue(timestamp) };
    const finalizable = await findFinalizable(timestamp);
    found.notified += finalizable.notified;
    found.queued += finalizable.queued;
    if (found.notified > 0) deps.onAnnounced();
    if (hasKey) found.queued += (await findExpiredDisputes(timestamp)) + (await findFailedScores(number));
    if (found.queued + found.notified > 0) log.info({ ...found }, "the keeper found escrows to end");
    return found;
  }

  const searching = repeat({
    name: `keeper.find.${network}`,
    async step() {
      if (await lease.acquire()) await step();
      return timings.keeperPollMs;
    },
    retry: RETRY,
    failed: "couldn't search for escrows to end",
    lease,
    log,
  });
  const loop: BackgroundLoop = {
    name: searching.name,
    async run(signal) {
      if (!hasKey) log.warn("no KEEPER_PRIVATE_KEY: escrows end when a party sends the last call");
      await searching.run(signal);
    },
  };
  return { step, loop };
}
