import { setTimeout as sleep } from "node:timers/promises";

// Not p-retry: its jitter is 1 to 2 times the delay instead of starting at zero, and it has its own rule for TypeError.
/** How a call is retried: at most `attempts` runs, with full jitter between them. */
export interface RetryOptions {
  /** Total number of runs, including the first. */
  attempts: number;
  /** Upper bound of the first delay; it doubles with each failure. */
  baseDelayMs: number;
  /** Upper bound of any delay. */
  maxDelayMs: number;
  /** False for an error that another run can't fix. */
  isRetryable: (error: unknown) => boolean;
  /** Random numbers from 0 to 1 for the jitter. */
  random?: () => number;
}

/**
 * A pause after so many failures in a row, for work that is never given up: the bound doubles with each failure, with
 * jitter over its upper half.
 */
export function pauseAfter(failures: number, { minMs, maxMs }: { minMs: number; maxMs: number }): number {
  const bound = Math.min(maxMs, minMs * 2 ** Math.min(failures, 30));
  return bound / 2 + (Math.random() * bound) / 2;
}

/** Calls `run` until it succeeds, fails permanently or runs out of attempts; throws the last error. */
export async function retry<T>(run: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const random = options.random ?? Math.random;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run(attempt);
    } catch (error) {
      if (attempt >= options.attempts || !options.isRetryable(error)) throw error;
      const bound = Math.min(options.maxDelayMs, options.baseDelayMs * 2 ** (attempt - 1));
      await sleep(random() * bound);
    }
  }
}
