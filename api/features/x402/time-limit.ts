/** The time that the payment of one request may take. The call that it pays for doesn't count. */
export interface TimeLimit {
  /** Runs a part of the payment. Its signal aborts when the time for all parts together is over. */
  within<T>(part: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** @param timeoutMs for all parts together, in milliseconds */
export function createTimeLimit(timeoutMs: number): TimeLimit {
  let leftMs = timeoutMs;
  return {
    async within(part) {
      const startedAt = performance.now();
      try {
        return await part(AbortSignal.timeout(Math.max(0, Math.ceil(leftMs))));
      } finally {
        leftMs -= performance.now() - startedAt;
      }
    },
  };
}
