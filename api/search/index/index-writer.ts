import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { MongoServerError } from "mongodb";
import type { Document as Record, Timestamp } from "mongodb";
import type { Connection } from "mongoose";

import { isDuplicateKey } from "../../db/connection.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { SearchTables } from "../engine/search-table.ts";
import { ChangeStreamEndedError, inBatches } from "./change-batches.ts";
import type { IndexSource, TableInUse } from "./index-source.ts";
import type { IndexPosition, IndexState, IndexStateModel } from "./index-state.ts";
import { createTableUpkeep } from "./table-upkeep.ts";

/** Dependencies of a writer. */
export interface IndexWriterDeps<Changed extends Record> {
  /** Name of the loop. */
  loop: string;
  source: IndexSource<Changed>;
  states: IndexStateModel;
  tables: SearchTables;
  /** Held by the only process that writes. */
  lease: Lease;
  /** The encoder's name and the length of its vectors. */
  encoder: { model: string; dimensions: number };
  now: () => Date;
  log: Logger;
}

/** How often the lease is renewed, and the position is noted while nothing changes. */
const BEAT_MS = 1_000;
const RETRY = { minMs: 200, maxMs: 10_000 };
/** How often it is checked what isn't wanted any more and what is missing. */
const CHECK_EVERY_MS = 5_000;
/** For how long a replaced table stays for searches that still read it. */
const RETIRED_KEPT_MS = 60_000;

/**
 * ChangeStreamHistoryLost, ChangeStreamFatalError and InvalidResumeToken, and the codes for a token that can't be parsed.
 */
const HISTORY_LOST: ReadonlySet<number> = new Set([286, 280, 260, 9, 40_647, 50_811]);

/** Thrown when another worker writes the index by now. */
class TakenOverError extends Error {
  override readonly name = "TakenOverError";

  constructor() {
    super("Another worker has taken over");
  }
}

/** An index that is being written. */
interface OpenIndex extends TableInUse {
  state: IndexState;
}

/**
 * Keeps an index in step with the database: one process at a time, which any other may replace at any moment. It builds the
 * index once, beside an outdated one if there is any, then follows the changes from where the last writer noted its position.
 * Changes are written before the position, and writing one again does no harm, so a crash loses nothing. A writer that was
 * paused past its lease can't undo what the next one has written, because a newer revision of a document is never replaced.
 */
export function createIndexWriter<Changed extends Record>(deps: IndexWriterDeps<Changed>): BackgroundLoop {
  const { source, states, tables, lease, encoder, now, log: parent } = deps;
  const log = parent.child({ index: source.name });
  const tablePrefix = `${source.name}_`;

  async function requireLease(): Promise<void> {
    if (!(await lease.acquire())) throw new TakenOverError();
  }

  /**
   * Names the table that answers searches from now on. A worker that was paused past its lease publishes nothing: another may have
   * published its own table since, or dropped this one.
   * @param before the table that answered when the build began
   * @throws TakenOverError
   */
  async function publish(state: IndexState, before: string | undefined): Promise<void> {
    await requireLease();
    if (!(await tables.names()).includes(state.table)) throw new TakenOverError();
    try {
      // Without a table before, another one makes this an insert of an id that exists.
      const written = await states.replaceOne({ _id: source.name, table: before ?? state.table }, state, {
        upsert: before === undefined,
      });
      if (written.matchedCount + written.upsertedCount === 0) throw new TakenOverError();
    } catch (error) {
      throw isDuplicateKey(error) ? new TakenOverError() : error;
    }
  }

  /** Builds the index in a table of its own, which answers searches once it is complete. */
  async function build(before: IndexState | null): Promise<OpenIndex> {
    const startedAt = performance.now();
    const resume: IndexPosition = { operationTime: await operationTimeOf(source.connection) };
    const name = `${tablePrefix}${now().getTime().toString(36)}_${randomBytes(3).toString("hex")}`;
    const table = await tables.create(name, source.layout, encoder.dimensions);
    const target = { name, table, model: encoder.model, format: source.format };
    const documents = await source.load(target, requireLease);
    await table.tidy();
    const indexedVectors = await table.vectorsToIndex(0);
    if (indexedVectors > 0) await table.indexVectors();
    const state: IndexState = {
      _id: source.name,
      table: name,
      format: source.format,
      model: encoder.model,
      resume,
      indexedVectors,
      followedAt: now(),
      retired: [...(before?.retired ?? []), ...(before === null ? [] : [{ table: before.table, at: now() }])],
    };
    await publish(state, before?.table);
    log.info({ table: name, documents, ms: Math.round(performance.now() - startedAt) }, "search index built");
    return { state, ...target };
  }

  /**
   * Builds the index while the present one follows the changes: searches find them meanwhile, however long it takes. If that
   * fails, the present one answers as it is.
   */
  async function buildBeside(present: OpenIndex, signal: AbortSignal): Promise<OpenIndex> {
    const built = new AbortController();
    const following = follow(present, AbortSignal.any([signal, built.signal]), true).catch((error: unknown) => {
      // Rows of a new layout may not fit into its table.
      log.warn({ err: error, table: present.name }, "the search index that is being replaced can't follow the changes");
    });
    try {
      return await build(present.state);
    } finally {
      built.abort();
      await following;
    }
  }

  /** The table that answers at the moment; undefined if it can't be read. */
  async function open(state: IndexState): Promise<OpenIndex | undefined> {
    const { table: name, model, format } = state;
    try {
      const table = await tables.open(name);
      await table.count();
      return { state, name, table, model, format };
    } catch (error) {
      // If not even the names can be read, the place is out of reach for a while, and nothing is lost.
      await tables.names();
      log.error({ err: error, table: name }, "the search index can't be read and is being built again");
      return undefined;
    }
  }

  /**
   * The index as it is; a new one if there is none, or one that can't be read, or is outdated.
   * @param isLost whether changes are missing from it that can't be read any more
   */
  async function openOrBuild(isLost: boolean, signal: AbortSignal): Promise<OpenIndex> {
    const state = await states.findById(source.name).lean<IndexState | null>();
    if (state === null || isLost) return await build(state);
    // Following it would note a position as if nothing were missing before.
    if (now().getTime() - state.followedAt.getTime() > (source.mostAbsenceMs ?? Infinity)) return await build(state);
    const present = await open(state);
    if (present === undefined) return await build(state);
    // Until all documents are embedded, the index of the old model answers.
    const isOutdated = state.format !== source.format || (state.model !== encoder.model && (await source.isEmbedded()));
    return isOutdated ? await buildBeside(present, signal) : present;
  }

  /** Drops tables that no search reads any more, and what a writer was building when it died. */
  async function dropRetired({ table, retired }: IndexState): Promise<void> {
    const due = now().getTime() - RETIRED_KEPT_MS;
    const wanted = new Set([table, ...retired.filter(({ at }) => at.getTime() > due).map((each) => each.table)]);
    for (const name of await tables.names()) {
      if (!name.startsWith(tablePrefix) || wanted.has(name)) continue;
      await source.forget?.(name);
      await tables.drop(name);
    }
  }

  /**
   * Follows the changes until the signal aborts, another process takes over, or the index has to be built again.
   * @param isBeingReplaced whether another table is being built. No state names that one yet, so nothing is dropped.
   */
  async function follow({ state, ...target }: OpenIndex, signal: AbortSignal, isBeingReplaced = false): Promise<void> {
    const changes = inBatches(source.watch(state.resume));
    const upkeep = createTableUpkeep({ index: source.name, target, states, log });
    let checkAt = performance.now();
    try {
      while (!signal.aborted) {
        const batch = await changes.next(BEAT_MS, signal);
        if (!(await lease.acquire())) return;
        if (batch.length > 0) await source.apply(batch, target);
        const resume = changes.position() === undefined ? {} : { resume: { token: changes.position() } };
        const noted = await states.updateOne(
          { _id: source.name, table: state.table },
          { followedAt: now(), ...resume },
        );
        if (noted.matchedCount === 0) return;
        await upkeep.afterWrite(batch.length);
        if (isBeingReplaced || performance.now() < checkAt) continue;
        checkAt = performance.now() + CHECK_EVERY_MS;
        if (state.model !== encoder.model && (await source.isEmbedded())) return;
        await dropRetired(state);
        upkeep.indexVectors();
      }
    } finally {
      await changes.close();
      await upkeep.tidied();
    }
  }

  /** Keeps the lease through work that takes longer than it lasts, such as indexing a million vectors. */
  async function whileRenewing(work: () => Promise<void>): Promise<void> {
    const renewing = setInterval(() => {
      // A lease that is lost is noticed before the next write.
      void lease.acquire().catch(() => undefined);
    }, BEAT_MS);
    try {
      await work();
    } finally {
      clearInterval(renewing);
    }
  }

  return {
    name: deps.loop,
    async run(signal) {
      let failures = 0;
      let isLost = false;
      while (!signal.aborted) {
        let pauseMs = BEAT_MS;
        try {
          if (await lease.acquire()) {
            await whileRenewing(async () => {
              const index = await openOrBuild(isLost, signal);
              isLost = false;
              await follow(index, signal);
            });
            failures = 0;
          }
        } catch (error) {
          isLost ||= isHistoryLost(error);
          pauseMs = pauseAfter(failures, RETRY);
          failures += 1;
          log.error({ err: error, failures, pauseMs }, "couldn't write the search index; trying again");
          // Another worker may be able to.
          await lease.release().catch(() => undefined);
        }
        await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      }
      await lease.release().catch(() => undefined);
    },
  };
}

/** Whether the database no longer has the changes after a position. */
function isHistoryLost(error: unknown): boolean {
  if (error instanceof ChangeStreamEndedError) return true;
  return error instanceof MongoServerError && HISTORY_LOST.has(Number(error.code));
}

async function operationTimeOf(connection: Connection): Promise<Timestamp> {
  const { operationTime }: { operationTime?: Timestamp } = await connection
    .getClient()
    .db("admin")
    .command({ ping: 1 });
  if (operationTime === undefined) throw new Error("The database doesn't report its operation time");
  return operationTime;
}
