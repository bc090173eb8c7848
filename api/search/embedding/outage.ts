import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { EmbeddingServerError } from "./embedding-server.ts";

/** A process's record of server failures. */
export interface Outage {
  /** Whether nothing may be sent at the moment. */
  isPausing(): boolean;
  /** False from a failure until the next answer. */
  isAnswering(): boolean;
  /** After requests that failed for good: nothing is sent for a while, which grows with each failure in a row. */
  begin(error: EmbeddingServerError): void;
  /** After an answer. */
  end(): void;
}

/** First and longest pause after failures in a row, in milliseconds. */
export interface OutagePauses {
  minMs: number;
  maxMs: number;
}

const PAUSES: OutagePauses = { minMs: 1_000, maxMs: 60_000 };

/** Keeps a process from sending to a server that doesn't answer. Logs the beginning and the end. */
export function createOutage(model: string, log: Logger, pauses = PAUSES): Outage {
  let failures = 0;
  let until = 0;
  return {
    isPausing: () => performance.now() < until,
    isAnswering: () => failures === 0,
    begin(error) {
      // Requests that were under way together count once.
      if (performance.now() < until) return;
      const pauseMs = Math.max(pauseAfter(failures, pauses), error.retryAfterMs);
      until = performance.now() + pauseMs;
      failures += 1;
      if (failures === 1) log.error({ model, problem: error.message }, "the embedding server is unavailable");
    },
    end() {
      if (failures > 0) log.info({ model, failures }, "the embedding server answers again");
      failures = 0;
      until = 0;
    },
  };
}
