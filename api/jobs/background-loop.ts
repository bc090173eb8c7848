import { setTimeout as sleep } from "node:timers/promises";

import type { Logger } from "../lib/logger.ts";
import { pauseAfter } from "../lib/retry.ts";
import type { Lease } from "./lease.ts";

/**
 * Continuous work of a worker with shorter pauses than a job queue supports, such as following the chain or sending
 * from the outbox. Several workers may run the same loop; the loop ensures that nothing is done twice.
 */
export interface BackgroundLoop {
  /** `feature.verb`, for the log. */
  name: string;
  /** Returns soon after the signal aborts. It handles its own errors; an error that it throws ends the process. */
  run(signal: AbortSignal): Promise<void>;
}

/** A step that a loop repeats. */
export interface RepeatedStep {
  /** `feature.verb`, for the log. */
  name: string;
  /** Does what is due. @returns how long to pause after it, in milliseconds */
  step: (signal: AbortSignal) => Promise<number>;
  /** First and longest pause after failures in a row, in milliseconds. */
  retry: { minMs: number; maxMs: number };
  /** Log message when a step has failed, such as "couldn't read the outbox". */
  failed: string;
  /** Log message when a step succeeds after a failure. */
  recovered?: string;
  /** Released at the end and after a failure. The step acquires it. */
  lease?: Pick<Lease, "release">;
  log: Logger;
}

/** A loop whose pauses can be ended. */
export interface RepeatedLoop extends BackgroundLoop {
  /** Ends the current pause, or the next one if a step is under way: that step may have looked too early. */
  wake(): void;
}

/** A loop that repeats a step and pauses longer after each failure in a row. */
export function repeat({ name, step, retry, failed, recovered, lease, log }: RepeatedStep): RepeatedLoop {
  let pausing = new AbortController();

  function wake(): void {
    pausing.abort();
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: pausing.signal }).catch(() => undefined);
    if (pausing.signal.aborted) pausing = new AbortController();
  }

  return {
    name,
    wake,
    async run(signal) {
      signal.addEventListener("abort", wake, { once: true });
      const isStopping = () => signal.aborted;
      let failures = 0;
      while (!isStopping()) {
        let pauseMs: number;
        try {
          pauseMs = await step(signal);
          if (failures > 0 && recovered !== undefined) log.info(recovered);
          failures = 0;
        } catch (error) {
          // The step ended because the loop is to end.
          if (isStopping() && error === signal.reason) break;
          pauseMs = pauseAfter(failures, retry);
          failures += 1;
          log.error({ err: error, failures, pauseMs }, `${failed}; trying again`);
          // Another worker may be able to.
          await lease?.release().catch(() => undefined);
        }
        await pause(pauseMs);
      }
      // Without the database the lease expires by itself.
      await lease?.release().catch(() => undefined);
    },
  };
}
