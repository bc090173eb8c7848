import { requireInteger, requireMs } from "./arguments.ts";
import { ApiError, isTransient } from "./errors.ts";

// Written here because retry packages neither decide by the answer's code nor follow `Retry-After` up to a limit, which
// is most of what this file does.

/** When and how often a request is retried. */
export interface RetryOptions {
  /** Total number of attempts, including the first; 4 by default. 1 disables retries. */
  maxAttempts?: number | undefined;
  /** Upper bound of the first random pause in milliseconds; it doubles with each attempt. 200 by default. */
  baseDelayMs?: number | undefined;
  /** Maximum random pause in milliseconds; 10,000 by default. */
  maxDelayMs?: number | undefined;
  /**
   * Maximum `Retry-After` to wait for, in milliseconds; 60,000 by default. With a longer one the error is thrown at
   * once.
   */
  maxRetryAfterMs?: number | undefined;
}

/** Codes of 503 answers that the API gives before it changes anything, so any request can be retried. */
const REFUSED_BEFORE_WORK: readonly (string | undefined)[] = [
  "chain_unavailable",
  "indexer_unavailable",
  "price_feed_unavailable",
  "search_unavailable",
];

/** Decides whether a request is retried. */
export class RetryPolicy {
  readonly #maxAttempts: number;
  readonly #baseDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #maxRetryAfterMs: number;

  /** @throws ArgumentError */
  constructor(options: RetryOptions = {}) {
    this.#maxAttempts = options.maxAttempts ?? 4;
    this.#baseDelayMs = options.baseDelayMs ?? 200;
    this.#maxDelayMs = options.maxDelayMs ?? 10_000;
    this.#maxRetryAfterMs = options.maxRetryAfterMs ?? 60_000;
    requireInteger("retry.maxAttempts", this.#maxAttempts, 1, Number.MAX_SAFE_INTEGER);
    requireMs("retry.baseDelayMs", this.#baseDelayMs);
    requireMs("retry.maxDelayMs", this.#maxDelayMs);
    requireMs("retry.maxRetryAfterMs", this.#maxRetryAfterMs);
  }

  /**
   * Milliseconds to wait before the next attempt; undefined if the error is final.
   * @param attempt the attempt that failed, counted from 1
   * @param isIdempotent whether sending the request twice has the same effect as sending it once
   * @param random 0 to 1, replaced in tests
   */
  delayMs(error: unknown, attempt: number, isIdempotent: boolean, random = Math.random()): number | undefined {
    if (attempt >= this.#maxAttempts) return undefined;
    if (!(isIdempotent ? isTransient(error) : wasRefusedBeforeWork(error))) return undefined;
    const longest = Math.min(this.#maxDelayMs, this.#baseDelayMs * 2 ** (attempt - 1));
    const jitterMs = random * longest;
    const askedMs = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    // Full jitter, added to a Retry-After, so that callers who were refused together don't all return together.
    return askedMs > this.#maxRetryAfterMs ? undefined : askedMs + jitterMs;
  }
}

function wasRefusedBeforeWork(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 429 || (error.status === 503 && REFUSED_BEFORE_WORK.includes(error.code));
}

/** Seconds of a `Retry-After` header, which contains seconds or a date; undefined without the header. */
export function parseRetryAfter(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000));
}
