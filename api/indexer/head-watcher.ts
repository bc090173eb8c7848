import { setTimeout as sleep } from "node:timers/promises";

import type { Network } from "../config/constants.ts";
import { untilAborted } from "../lib/stopping.ts";
import { IndexerBehindError } from "./errors.ts";

/** Limits of a wait. */
export interface HeadWait {
  /** Maximum wait in milliseconds. */
  waitMs: number;
  /** Ends the wait early, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Follows the head of one subgraph for all requests of this process that wait for a block. It runs one query at a time
 * for any number of waiters, and none without waiters.
 */
export interface HeadWatcher {
  /** Whether an answer has already included this block. */
  hasSeen(blockNumber: number): boolean;
  /** Records the block at which an answer was read. */
  saw(blockNumber: number): void;
  /** Records that an indexer is only at this block: blocks were withdrawn, or another indexer answered. */
  sawOnly(blockNumber: number): void;
  /**
   * Resolves with the next answer that includes the block.
   * @throws IndexerBehindError if no answer included it in time; if the last query failed, that query's error instead
   */
  reached(blockNumber: number, wait: HeadWait): Promise<void>;
}

/** Dependencies of a watcher. */
export interface HeadWatcherOptions {
  network: Network;
  /** Reads the subgraph's latest block. */
  readHead: () => Promise<number>;
  /** Waits between queries; tests step it. */
  pause?: (milliseconds: number) => Promise<unknown>;
}

/** First pause between queries in milliseconds. It grows while the head doesn't move. At most 20 queries a second. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 250;
const PAUSE_GROWTH = 1.5;

interface Waiter {
  blockNumber: number;
  resolve: () => void;
}

/** A watcher of one subgraph. */
export function createHeadWatcher(options: HeadWatcherOptions): HeadWatcher {
  const { network, readHead, pause = (milliseconds) => sleep(milliseconds, undefined, { ref: false }) } = options;
  const waiters = new Set<Waiter>();
  let seen = 0;
  /** The error of the last query; undefined if it succeeded. */
  let failure: Error | undefined;
  let isWatching = false;

  function saw(blockNumber: number): void {
    seen = Math.max(seen, blockNumber);
    for (const waiter of waiters) {
      if (waiter.blockNumber <= blockNumber) waiter.resolve();
    }
  }

  async function look(): Promise<void> {
    try {
      saw(await readHead());
      failure = undefined;
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Ends only after the pause that follows the last query, so that a new waiter can't shorten that pause. */
  async function watch(): Promise<void> {
    if (isWatching) return;
    isWatching = true;
    let pauseMs = MIN_PAUSE_MS;
    while (waiters.size > 0) {
      const before = seen;
      await look();
      pauseMs = seen === before ? Math.min(pauseMs * PAUSE_GROWTH, MAX_PAUSE_MS) : MIN_PAUSE_MS;
      await pause(pauseMs);
    }
    isWatching = false;
  }

  return {
    hasSeen: (blockNumber) => blockNumber <= seen,
    saw,
    sawOnly(blockNumber) {
      seen = Math.min(seen, blockNumber);
    },
    async reached(blockNumber, { waitMs, signal }) {
      signal?.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      const waiter: Waiter = {
        blockNumber,
        resolve: () => {
          resolve(undefined);
        },
      };
      const timer = setTimeout(() => {
        reject(failure ?? new IndexerBehindError(network, seen === 0 ? null : seen, blockNumber));
      }, waitMs);
      waiters.add(waiter);
      void watch();
      try {
        await untilAborted(promise, signal);
      } finally {
        waiters.delete(waiter);
        clearTimeout(timer);
      }
    },
  };
}
