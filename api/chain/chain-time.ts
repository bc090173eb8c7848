import { setTimeout as sleep } from "node:timers/promises";

/**
 * A chain's time as known to this process, in unix seconds. It never goes back: once a block has passed a deadline, the
 * deadline stays passed, even if another node or indexer that is behind answers next.
 */
export interface ChainTime {
  /**
   * The latest block's time, read at most `maxAgeMs` ago. Concurrent callers share one RPC call. While the RPC server
   * doesn't answer, it is the time of the latest block seen, or 0 if there was none.
   */
  latest(): Promise<number>;
  /** Records the time of a block that was seen elsewhere, for example in the subgraph. */
  saw(timestamp: number): void;
}

/** A chain's time and ours at one moment, in unix seconds. `chainTime` is 0 if no block has been seen. */
export interface Clocks {
  chainTime: number;
  wallTime: number;
}

/**
 * Maximum age of the time that a process knows, in milliseconds, where nothing else is said. A local chain has a block each
 * second.
 */
export const CHAIN_TIME_MAX_AGE_MS = 1_000;

/** Smaller leads of a chain's clock are ignored, in seconds. Blocks and clients are never exactly on time. */
const TOLERATED_LEAD_SECONDS = 60;

/**
 * How many seconds a chain's clock is ahead of ours; 0 up to a minute. Clients sign by clocks such as ours, and contracts end
 * what they have signed by the chain's. Only a local chain whose clock was moved is ahead.
 */
export function leadOf({ chainTime, wallTime }: Clocks): number {
  const lead = chainTime - wallTime;
  return lead > TOLERATED_LEAD_SECONDS ? lead : 0;
}

/**
 * Converts a moment of our clock to a chain's clock. Times that are compared with the chain's are stored this way. The
 * result is the same moment, or the latest block's time if that is later. So a later moment never gets an earlier time.
 * @param chainTime of the latest block in unix seconds
 */
export function byChainClock(moment: Date, chainTime: number): Date {
  return new Date(Math.max(moment.getTime(), chainTime * 1_000));
}

/** Settings and collaborators of a chain's time. */
export interface ChainTimeOptions {
  chain: { head(): Promise<{ timestamp: number }> };
  /** Maximum age of the RPC server's answer, in milliseconds. */
  maxAgeMs: number;
  /** Milliseconds of a monotonic clock. */
  monotonicNow?: () => number;
}

/** Maximum wait of a caller for the RPC server, and the pause after a failed call. */
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
    // Counted from the request: the answer is at least as new.
    const askedAt = monotonicNow();
    try {
      saw((await chain.head()).timestamp);
      freshUntil = askedAt + maxAgeMs;
    } catch {
      // The last known time is used instead; /ready reports the outage.
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
