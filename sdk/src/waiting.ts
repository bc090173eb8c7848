import type { TransactionReceipt } from "viem";

import { requireMs } from "./arguments.ts";
import { ApiError, isTransient, TimeoutError } from "./errors.ts";

/** How long to wait, and how to end the wait early. */
export interface WaitOptions {
  /** Maximum wait in milliseconds; 60,000 by default. */
  timeoutMs?: number | undefined;
  /** Aborting rejects the call with the signal's reason. What is on chain by then stays there. */
  signal?: AbortSignal | undefined;
}

/** How long a verb waits for the chain and the API together, and a callback for the transactions that it sends. */
export interface VerbOptions extends WaitOptions {
  /** Called for logging once a block includes one of the wallet's transactions. */
  onReceipt?: ((step: string, receipt: TransactionReceipt) => void) | undefined;
}

/** Default of {@link WaitOptions.timeoutMs}. */
export const DEFAULT_WAIT_MS = 60_000;

/** Keeps track of the time that is left for a wait. */
export class Patience {
  readonly signal: AbortSignal | undefined;
  readonly #what: string;
  readonly #timeoutMs: number;
  readonly #endsAt: number;

  /** @throws ArgumentError */
  constructor(what: string, { timeoutMs = DEFAULT_WAIT_MS, signal }: WaitOptions = {}) {
    requireMs("timeoutMs", timeoutMs);
    this.#what = what;
    this.#timeoutMs = timeoutMs;
    this.#endsAt = performance.now() + timeoutMs;
    this.signal = signal;
  }

  /** Milliseconds left, at least 1. */
  get remainingMs(): number {
    return Math.max(1, Math.ceil(this.#endsAt - performance.now()));
  }

  /**
   * Pauses before the next attempt, but not longer than the time left.
   * @throws TimeoutError if no time is left; `cause` is the error of the last attempt
   */
  async pause(ms: number, cause?: unknown): Promise<void> {
    const left = this.#endsAt - performance.now();
    if (left <= 0) throw new TimeoutError(this.#what, this.#timeoutMs, { cause });
    await pause(Math.min(ms, left), this.signal);
  }
}

/** The outcome of an attempt: a result, or that it is too early. */
export type Attempt<Result> = { result: Result } | { retryAfterSeconds?: number | undefined };

const FIRST_POLL_MS = 100;
const LONGEST_POLL_MS = 2_000;

/**
 * Repeats an attempt until it has a result. The pauses grow to two seconds and are never shorter than `Retry-After`.
 * @param isLag whether an error means "not yet"; by default the transient ones do
 * @throws TimeoutError
 */
export async function poll<Result>(
  patience: Patience,
  attempt: () => Promise<Attempt<Result>>,
  isLag: (error: unknown) => boolean = isTransient,
): Promise<Result> {
  let lag: unknown;
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, LONGEST_POLL_MS)) {
    let retryAfterSeconds: number | undefined;
    try {
      const found = await attempt();
      if ("result" in found) return found.result;
      retryAfterSeconds = found.retryAfterSeconds;
    } catch (error) {
      if (!isLag(error)) throw error;
      // The end of the wait aborts the last attempt, so the previous answer explains more.
      if (lag === undefined || !(error instanceof TimeoutError)) lag = error;
      retryAfterSeconds = error instanceof ApiError ? error.retryAfterSeconds : undefined;
    }
    await patience.pause(Math.max(pollMs, (retryAfterSeconds ?? 0) * 1_000), lag);
  }
}

/** Waits for `ms` milliseconds. Rejects with the signal's reason if it aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted === true) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
