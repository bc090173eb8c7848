import type { Logger } from "../lib/logger.ts";

/** The arguments of a job run. */
export interface JobRun<Data> {
  data: Data;
  log: Logger;
  /** Aborted when the worker stops; a long job checks it between steps. */
  signal: AbortSignal;
}

/**
 * A named job. Jobs are idempotent, contain no business rules and call a service: a killed job runs again, and two
 * workers may run the same one.
 */
export interface JobDefinition<Data = undefined> {
  /** `feature.verb`, for example `search.embed-pending`. */
  name: `${string}.${string}`;
  /** Repeat interval in milliseconds; without it the job runs when scheduled. */
  everyMs?: number;
  /** Maximum concurrent runs of this job per worker. */
  concurrency?: number;
  /** A run that takes longer than this many milliseconds counts as dead and is repeated. */
  lockLifetimeMs?: number;
  run: (run: JobRun<Data>) => Promise<void>;
}

/** Puts jobs into the queue. */
export interface JobQueue {
  /** Schedules a job; it runs immediately when `at` is omitted. */
  schedule(name: string, data: unknown, at?: Date): Promise<void>;
}
