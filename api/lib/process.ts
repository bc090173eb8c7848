import process from "node:process";

import type { Logger } from "./logger.ts";
import { withTimeout } from "./timeout.ts";

/** How long a process may take to stop before it is forced to exit. */
const FORCED_EXIT_MS = 9_000;

/**
 * Runs a service until SIGINT or SIGTERM, then stops it cleanly. A failed start or an uncaught error ends the process
 * with code 1, so that its supervisor restarts it; a second signal ends it immediately.
 * @param start starts the service and returns the function that stops it
 */
export async function runProcess(log: Logger, start: () => Promise<() => Promise<void>>): Promise<void> {
  let stop: (() => Promise<void>) | undefined;
  let stopping = false;

  const end = (reason: string, code: number): void => {
    if (stopping) process.exit(code === 0 ? 130 : code);
    stopping = true;
    log.info({ reason }, "stopping");
    setTimeout(() => {
      log.error("couldn't stop in time");
      process.exit(1);
    }, FORCED_EXIT_MS).unref();
    const stopped = stop === undefined ? Promise.resolve() : stop();
    stopped.then(
      () => process.exit(code),
      (error: unknown) => {
        log.error({ err: error }, "couldn't stop cleanly");
        process.exit(1);
      },
    );
  };

  process.on("SIGINT", () => {
    end("SIGINT", 0);
  });
  process.on("SIGTERM", () => {
    end("SIGTERM", 0);
  });
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "uncaught exception");
    end("uncaught exception", 1);
  });
  process.on("unhandledRejection", (error) => {
    log.fatal({ err: error }, "unhandled rejection");
    end("unhandled rejection", 1);
  });

  try {
    stop = await start();
  } catch (error) {
    log.fatal({ err: error }, error instanceof Error ? error.message : "start failed");
    process.exit(1);
  }
}

/** A part of a service that is stopped. */
export interface StopStep {
  name: string;
  /** How long it may take, in milliseconds. The steps of a process together stay below the forced exit. */
  limitMs: number;
  stop: () => Promise<unknown>;
}

/**
 * Stops one part after another. If a part fails or doesn't end in time, the next ones are still stopped. The next
 * process finishes what this one leaves undone, as after a crash.
 */
export async function stopInOrder(log: Logger, steps: readonly StopStep[]): Promise<void> {
  for (const { name, limitMs, stop } of steps) {
    try {
      await withTimeout(name, limitMs, stop);
    } catch (error) {
      log.warn({ err: error, step: name }, "a part of the process didn't stop cleanly");
    }
  }
}
