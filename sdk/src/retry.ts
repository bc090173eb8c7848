import { ApiError, isTransient } from "./errors.ts";

// Written here because the retry packages at hand don't decide by the answer's code, nor keep to `Retry-After` and
// give up when it is too long, which is most of what follows.

/** When and how often a request is repeated. */
export interface RetryOptions {
  /** Attempts in all, the first included; 4 by default. 1 never repeats. */
  maxAttempts?: number | undefined;
  /** Upper end of the first random pause in milliseconds; it doubles with each attempt. 200 by default. */
  baseDelayMs?: number | undefined;
  /** Longest random pause in milliseconds; 10,000 by default. */
  maxDelayMs?: number | undefined;
  /** A longer `Retry-After` (in milliseconds) isn't waited for: the error is thrown at once. 60,000 by default. */
  maxRetryAfterMs?: number | undefined;
}

/** Answers of 503 that the API gives before it has changed anything, so that any request may follow again. */
const REFUSED_BEFORE_WORK: readonly (string | undefined)[] = [
  "chain_unavailable",
  "indexer_unavailable",
  "price_feed_unavailable",
  "search_unavailable",
];

/** Decides on repetitions of requests. */
export class RetryPolicy {
  readonly #maxAttempts: number;
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #maxRetryAfterMs: number;

  constructor(options: RetryOptions = {}) {
    this.#maxAttempts = options.maxAttempts ?? 4;
    this.#baseDelayMs = options.baseDelayMs ?? 200;
    this.#maxDelayMs = options.maxDelayMs ?? 10_000;
    this.#maxRetryAfterMs = options.maxRetryAfterMs ?? 60_000;
  }

  /**
   * Milliseconds to wait before the next attempt; undefined when the error is final.
   * @param attempt the attempt that failed, counted from 1
   * @param isIdempotent whether sending the request twice does no more than sending it once
   * @param random 0 to 1, replaced in tests
   */
  delayMs(error: unknown, attempt: number, isIdempotent: boolean, random = Math.random()): number | undefined {
    if (attempt >= this.#maxAttempts) return undefined;
    if (!(isIdempotent ? isTransient(error) : wasRefusedBeforeWork(error))) return undefined;
    const longest = Math.min(this.#maxDelayMs, this.#baseDelayMs * 2 ** (attempt - 1));
    const jitterMs = random * longest;
    const askedMs = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    // Full jitter; after a Retry-After it is added, so that callers who were refused together don't return together.
    return askedMs > this.#maxRetryAfterMs ? undefined : askedMs + jitterMs;
  }
}

function wasRefusedBeforeWork(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 429 || (error.status === 503 && REFUSED_BEFORE_WORK.includes(error.code));
}

/** Seconds of a `Retry-After` header, which holds seconds or a date; undefined when there is none. */
export function retryAfterSecondsOf(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000));
}
