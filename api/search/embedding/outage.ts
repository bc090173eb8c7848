import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { EmbeddingServerError } from "./embedding-server.ts";

/** First and longest pause after failures in a row, in milliseconds. */
export interface OutagePauses {
  minMs: number;
  maxMs: number;
}

const PAUSES: OutagePauses = { minMs: 1_000, maxMs: 60_000 };

/** A process's record of server failures. It keeps the process from sending, and logs the beginning and the end. */
export class Outage {
  readonly #model: string;
  readonly #log: Logger;
  readonly #pauses: OutagePauses;
  #failures = 0;
  #until = 0;

  constructor(model: string, log: Logger, pauses = PAUSES) {
    this.#model = model;
    this.#log = log;
    this.#pauses = pauses;
  }

  /** Whether nothing may be sent at the moment. */
  isPausing(): boolean {
    return performance.now() < this.#until;
  }

  /** False from a failure until the next answer. */
  isAnswering(): boolean {
    return this.#failures === 0;
  }

  /** After requests that failed for good: nothing is sent for a while, which grows with each failure in a row. */
  begin(error: EmbeddingServerError): void {
    // Requests that were under way together count once.
    if (this.isPausing()) return;
    const pauseMs = Math.max(pauseAfter(this.#failures, this.#pauses), error.retryAfterMs);
    this.#until = performance.now() + pauseMs;
    this.#failures += 1;
    const [model, problem] = [this.#model, error.message];
    if (this.#failures === 1) this.#log.error({ model, problem }, "the embedding server is unavailable");
  }

  /** After an answer. */
  end(): void {
    const [model, failures] = [this.#model, this.#failures];
    if (failures > 0) this.#log.info({ model, failures }, "the embedding server answers again");
    this.#failures = 0;
    this.#until = 0;
  }
}
