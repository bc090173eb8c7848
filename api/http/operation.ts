import { derivedId, newId } from "../lib/ids.ts";
import type { IdPrefix } from "../lib/ids.ts";

/** An earlier start of the same request, which may have had its effect. */
export interface OperationStart {
  startedAt: Date;
  /** Random, and the same for every repeat of the request. */
  seed: string;
  /** True if an earlier request began and never finished. */
  isRepeat: boolean;
}

/**
 * The effect that a request is to have once. Every repeat with the same `Idempotency-Key` is the same operation, even
 * after the process that began it was killed.
 */
export interface Operation {
  /** True if the operation began earlier and may have had its effect: look for what it created before creating it. */
  readonly isRepeat: boolean;
  /** True if a later request can be the same operation: what it does must be recognisable then. */
  readonly isRepeatable: boolean;
  /**
   * Id of a record that the operation creates, one of each kind. A repeat gets the same id, so it can't create a second
   * record.
   */
  newId(prefix: IdPrefix, now: Date): string;
}

/** An operation that the idempotency step can recognise as one that began earlier. */
export class RequestOperation implements Operation {
  #start: OperationStart | undefined;

  get isRepeat(): boolean {
    return this.#start?.isRepeat === true;
  }

  get isRepeatable(): boolean {
    return this.#start !== undefined;
  }

  resumeFrom(start: OperationStart): void {
    this.#start = start;
  }

  newId(prefix: IdPrefix, now: Date): string {
    if (this.#start === undefined) return newId(prefix, now);
    return derivedId(prefix, this.#start.startedAt, this.#start.seed);
  }
}
