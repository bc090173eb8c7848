import type { Logger } from "../lib/logger.ts";

/** What a job is given when it runs. */
export interface JobRun<Data> {
  data: Data;
  log: Logger;
  /** Aborted when the worker stops; a long job looks at it between steps. */
  signal: AbortSignal;
}

/**
 * A named job. Jobs are idempotent, hold no rules of their own and call a service: a job that was killed half-way is run
 * again, and two workers may run the same one.
 */
export interface JobDefinition<Data = undefined> {
  /** `feature.verb`, for example `search.embed-pending`. */
  name: `${string}.${string}`;
  /** Repeats every so many milliseconds; a job without it runs when scheduled. */
  everyMs?: number;
  /** How many runs of this job one worker does at the same time. */
  concurrency?: number;
  /** A run that has not ended after so many milliseconds is taken for dead and run again. */
  lockLifetimeMs?: number;
  run: (run: JobRun<Data>) => Promise<void>;
}

/** Puts jobs into the queue. */
export interface JobQueue {
  /** Runs a job at a moment; at once when `at` is left out. */
  schedule(name: string, data: unknown, at?: Date): Promise<void>;
}
