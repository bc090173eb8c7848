import { setTimeout as sleep } from "node:timers/promises";

import { MongoBackend } from "@agendajs/mongo-backend";
import { Agenda } from "agenda";
import type { Collection } from "mongodb";
import type { Connection } from "mongoose";

import type { Logger } from "../lib/logger.ts";
import type { JobDefinition } from "./define-job.ts";

/**
 * How often a worker looks for jobs that are due until its next look, in milliseconds. Each look costs a command for each
 * job. A job runs at its own time, but at most once per look.
 */
const LOOK_EVERY_MS = 5_000;
const DEFAULT_LOCK_LIFETIME_MS = 60_000;
const COLLECTION = "jobs";
const STOP_TIMEOUT_MS = 5_000;

/**
 * Runs the periodic jobs, each in one worker at a time, unless a run outlives its lock. So jobs have to be idempotent.
 */
export class JobSystem {
  readonly #agenda: Agenda;
  readonly #jobs: Collection;
  readonly #log: Logger;
  readonly #running = new Set<Promise<void>>();
  #isStopping = false;

  /** Creates the job system on the application's database. */
  constructor(deps: { connection: Connection; log: Logger; lookEveryMs?: number }) {
    const { connection, log, lookEveryMs = LOOK_EVERY_MS } = deps;
    this.#log = log;
    const mongo = connection.getClient().db(connection.name);
    this.#jobs = mongo.collection(COLLECTION);
    this.#agenda = new Agenda({
      backend: new MongoBackend({ mongo, collection: COLLECTION }),
      // Agenda ignores short intervals when given as text.
      processEvery: lookEveryMs,
    });
    this.#agenda.on("error", (error) => {
      log.error({ err: error }, "job system");
    });
    this.#agenda.on("fail", (error: unknown, job: { attrs?: { name?: string } }) => {
      log.error({ err: error, job: job.attrs?.name }, "job failed");
    });
  }

  /** Settles once the queue's collection and its indexes exist. */
  get ready(): Promise<unknown> {
    return this.#agenda.ready;
  }

  /** Starts running jobs in this process. */
  async start(definitions: readonly JobDefinition[], signal: AbortSignal): Promise<void> {
    this.#isStopping = false;
    await this.ready;
    // Two workers that start at once must not create a job twice.
    await this.#jobs.createIndex({ name: 1 }, { unique: true }, {});
    for (const definition of definitions) {
      this.#define(definition, signal);
      await this.#schedule(definition);
    }
    await this.#agenda.start();
  }

  /**
   * Releases reserved jobs and waits at most a few seconds for running ones. No job starts after the call.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    // Agenda's own `drain` would leave reserved jobs locked.
    await this.#agenda.stop(false);
    await Promise.race([Promise.allSettled(this.#running), sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  }

  /** As Agenda's `every`, which would clear the lock of a job that another worker is running. */
  async #schedule({ name, everyMs: repeatInterval }: JobDefinition): Promise<void> {
    const ifNew = { type: "single", priority: 0, nextRunAt: new Date(), lockedAt: null };
    await this.#jobs.findOneAndUpdate({ name }, { $set: { repeatInterval }, $setOnInsert: ifNew }, { upsert: true });
  }

  #define({ name, run, lockLifetimeMs }: JobDefinition, signal: AbortSignal): void {
    this.#agenda.define<never>(
      name,
      async (job) => {
        if (this.#isStopping) {
          // Agenda had already marked this job as running when it was told to stop. Without this, it would wait for its
          // next time.
          job.attrs.nextRunAt = new Date();
          return;
        }
        const running = run({ log: this.#log.child({ job: name }), signal });
        this.#running.add(running);
        try {
          await running;
        } finally {
          this.#running.delete(running);
        }
      },
      { concurrency: 1, lockLifetime: lockLifetimeMs ?? DEFAULT_LOCK_LIFETIME_MS },
    );
  }
}
