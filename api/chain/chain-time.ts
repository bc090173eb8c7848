import { setTimeout as sleep } from "node:timers/promises";

import type { ChainClient } from "./chain-client.ts";

/**
 * The time of a chain as this process knows it, in unix seconds. It never goes back: a deadline that a block seen here
 * has passed stays passed, whichever node or indexer answers next.
 */
export interface ChainTime {
  /**
   * The latest block's time, asked for at most `maxAgeMs` ago, in one RPC call however many ask. While the RPC server is
   * silent it is the time of the latest block seen; 0 when none was.
   */
  latest(): Promise<number>;
  /** Takes note of the time of a block that was seen elsewhere, for example in the subgraph. */
  saw(timestamp: number): void;
}

/** Settings and collaborators of a chain's time. */
export interface ChainTimeOptions {
  chain: Pick<ChainClient, "head">;
  /** How old the answer of the RPC server may be, in milliseconds. */
  maxAgeMs: number;
  /** Milliseconds of a monotonic clock. */
  monotonicNow?: () => number;
}

/** A caller doesn't wait longer for the RPC server, and after a failure no other call is made for as long. */
const PATIENCE_MS = 1_000;

/** The shared time of one chain. */
export function createChainTime(options: ChainTimeOptions): ChainTime {
  const { chain, maxAgeMs, monotonicNow = () => performance.now() } = options;
  let seen = 0;
  let freshUntil = -Infinity;
  let refresh: Promise<void> | undefined;

  function saw(timestamp: number): void {
    seen = Math.max(seen, timestamp);
  }

  async function ask(): Promise<void> {
    // Counted from the question: the answer is at least as new.
    const askedAt = monotonicNow();
    try {
      saw((await chain.head()).timestamp);
      freshUntil = askedAt + maxAgeMs;
    } catch {
      // A reading does without; /ready reports the outage.
      freshUntil = monotonicNow() + PATIENCE_MS;
    } finally {
      refresh = undefined;
    }
  }

  return {
    saw,
    async latest() {
      if (monotonicNow() < freshUntil) return seen;
      refresh ??= ask();
      const patience = new AbortController();
      try {
        const isOver = sleep(PATIENCE_MS, true, { ref: false, signal: patience.signal });
        if ((await Promise.race([refresh, isOver])) === true) freshUntil = monotonicNow() + PATIENCE_MS;
      } finally {
        patience.abort();
      }
      return seen;
    },
  };
}
