import { setTimeout as sleep } from "node:timers/promises";

import { MongoBackend } from "@agendajs/mongo-backend";
import { Agenda } from "agenda";
import type { Connection } from "mongoose";

import type { Logger } from "../lib/logger.ts";
import type { JobDefinition, JobQueue } from "./define-job.ts";

/**
 * How often a worker polls for due jobs, in milliseconds. Each time costs a command for each job, and no job needs to start
 * sooner. Agenda ignores intervals this short when given as text.
 */
const PROCESS_EVERY_MS = 500;
const DEFAULT_LOCK_LIFETIME_MS = 60_000;
const COLLECTION = "jobs";
const STOP_TIMEOUT_MS = 5_000;

/** The job queue, and the worker side that runs its jobs. */
export interface JobSystem extends JobQueue {
  /** Settles once the queue's collections and indexes exist. */
  ready: Promise<unknown>;
  /** Starts running jobs in this process. */
  start(definitions: readonly JobDefinition<never>[], signal: AbortSignal): Promise<void>;
  /**
   * Releases reserved jobs and waits at most a few seconds for running ones. No job starts after the call.
   */
  stop(): Promise<void>;
}

/** Creates the job system on the application's database. */
export function createJobSystem(connection: Connection, log: Logger): JobSystem {
  const agenda = new Agenda({
    backend: new MongoBackend({ mongo: connection.getClient().db(connection.name), collection: COLLECTION }),
    processEvery: PROCESS_EVERY_MS,
    defaultLockLifetime: DEFAULT_LOCK_LIFETIME_MS,
    removeOnComplete: true,
  });
  agenda.on("error", (error) => {
    log.error({ err: error }, "job system");
  });
  agenda.on("fail", (error: unknown, job: { attrs?: { name?: string } }) => {
    log.error({ err: error, job: job.attrs?.name }, "job failed");
  });
  const running = new Set<Promise<void>>();
  let isStopping = false;

  function define(definition: JobDefinition<never>, signal: AbortSignal): void {
    const { name, concurrency = 1, lockLifetimeMs = DEFAULT_LOCK_LIFETIME_MS } = definition;
    agenda.define<never>(
      name,
      async (job) => {
        if (isStopping) {
          // Agenda had already marked this job as running when it was told to stop. Setting the next run keeps it in
          // the queue for the next worker.
          job.attrs.nextRunAt = new Date();
          return;
        }
        const run = definition.run({ data: job.attrs.data, log: log.child({ job: name }), signal });
        running.add(run);
        try {
          await run;
        } finally {
          running.delete(run);
        }
      },
      { concurrency, lockLifetime: lockLifetimeMs },
    );
  }

  return {
    ready: agenda.ready,
    async schedule(name, data, at) {
      await agenda.ready;
      await agenda.schedule(at ?? new Date(), name, data);
    },
    async start(definitions, signal) {
      isStopping = false;
      await agenda.ready;
      for (const definition of definitions) define(definition, signal);
      await agenda.start();
      for (const { name, everyMs } of definitions) {
        if (everyMs !== undefined) await agenda.every(everyMs, name);
      }
    },
    async stop() {
      isStopping = true;
      await agenda.stop(false);
      await Promise.race([Promise.allSettled(running), sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
}
