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

/** Bounds of a pause that doubles with each failure, in milliseconds. */
export interface PauseBounds {
  minMs: number;
  maxMs: number;
}

/** The longest pause after so many failures in a row: it doubles with each of them, in milliseconds. */
export function doubled(failures: number, { minMs, maxMs }: PauseBounds): number {
  return Math.min(maxMs, minMs * 2 ** Math.min(failures, 30));
}

/** A pause after so many failures in a row, for work that is never given up: with jitter over the upper half. */
export function pauseAfter(failures: number, bounds: PauseBounds): number {
  const longest = doubled(failures, bounds);
  return longest / 2 + (Math.random() * longest) / 2;
}

/** A pause after so many failures in a row, from nothing to the longest, so that those who failed together spread out. */
export function fullJitter(failures: number, bounds: PauseBounds, random = Math.random): number {
  return random() * doubled(failures, bounds);
}

/** Calls `run` until it succeeds, fails permanently or runs out of attempts; throws the last error. */
export async function retry<T>(run: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run(attempt);
    } catch (error) {
      if (attempt >= options.attempts || !options.isRetryable(error)) throw error;
      await sleep(fullJitter(attempt - 1, { minMs: options.baseDelayMs, maxMs: options.maxDelayMs }, options.random));
    }
  }
}
