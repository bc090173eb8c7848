import { setTimeout as sleep } from "node:timers/promises";

/** How a call is repeated: at most `attempts` runs, waiting with full jitter between them. */
export interface RetryOptions {
  /** Runs in total, the first included. */
  attempts: number;
  /** Upper bound of the first wait; it doubles with each failure. */
  baseDelayMs: number;
  /** No wait is longer. */
  maxDelayMs: number;
  /** False for an error that another run cannot cure. */
  isRetryable: (error: unknown) => boolean;
  /** Source of the jitter, 0 to 1. */
  random?: () => number;
}

/** Runs `run` until it succeeds, fails for good or the attempts are used up; the last error is thrown. */
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
