import type { Logger } from "../lib/logger.ts";

/** The arguments of a job run. */
export interface JobRun {
  log: Logger;
  /** Aborted when the worker stops; a long job checks it between steps. */
  signal: AbortSignal;
}

/**
 * A periodic job. Jobs are idempotent, contain no business rules and call a service: a killed job runs again, and two
 * workers may run the same one.
 */
export interface JobDefinition {
  /** `feature.verb`, for example `search.embed-pending`. */
  name: `${string}.${string}`;
  /** Repeat interval in milliseconds. */
  everyMs: number;
  /** A run that takes longer than this many milliseconds counts as dead and is repeated. */
  lockLifetimeMs?: number;
  run: (run: JobRun) => Promise<void>;
}
