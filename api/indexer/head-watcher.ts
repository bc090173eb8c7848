import { setTimeout as sleep } from "node:timers/promises";

import type { Network } from "../config/constants.ts";
import { untilAborted } from "../lib/stopping.ts";
import { IndexerBehindError } from "./errors.ts";

/** How long a wait lasts at most. */
export interface HeadWait {
  /** Milliseconds. */
  waitMs: number;
  /** Ends the wait early; the wait rejects with its reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Follows the head of one subgraph for every request of this process that waits for a block: one query at a time however
 * many wait, and none while nobody does.
 */
export interface HeadWatcher {
  /** Whether an answer has shown this block already. */
  hasSeen(blockNumber: number): boolean;
  /** Takes note of the block that an answer was read at. */
  saw(blockNumber: number): void;
  /** Takes note that an indexer is only this far: blocks were withdrawn, or another indexer answered. */
  sawOnly(blockNumber: number): void;
  /**
   * Resolves with the next answer that shows the block.
   * @throws IndexerBehindError when no answer has shown it in time; the last error of the subgraph when it failed then
   */
  reached(blockNumber: number, wait: HeadWait): Promise<void>;
}

/** Settings and collaborators of a watcher. */
export interface HeadWatcherOptions {
  network: Network;
  /** Asks the subgraph for its latest block. */
  readHead: () => Promise<number>;
  /** Waits between two queries; tests step it. */
  pause?: (milliseconds: number) => Promise<unknown>;
}

/** First pause between two queries in milliseconds; it grows while the head stands still. At most 20 queries a second. */
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
  /** The error of the last query; undefined when it succeeded. */
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

  /** The pause after the last query runs before the watch ends, so that a new waiter cannot shorten it. */
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
