/** The time that the payment of one request may take. The call that it pays for doesn't count. */
export class TimeLimit {
  #leftMs: number;

  /** @param timeoutMs for all parts together, in milliseconds */
  constructor(timeoutMs: number) {
    this.#leftMs = timeoutMs;
  }

  /** Runs a part of the payment. Its signal aborts when the time for all parts together is over. */
  async within<T>(part: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await part(AbortSignal.timeout(Math.max(0, Math.ceil(this.#leftMs))));
    } finally {
      this.#leftMs -= performance.now() - startedAt;
    }
  }
}
