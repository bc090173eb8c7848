import { randomBytes } from "node:crypto";

import { MongoServerError } from "mongodb";
import type { Document as Record, Timestamp } from "mongodb";
import type { Connection } from "mongoose";

import { isDuplicateKey } from "../../db/connection.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import type { SearchTables } from "../engine/search-table.ts";
import { ChangeStreamEndedError, inBatches } from "./change-batches.ts";
import type { ChangeBatches } from "./change-batches.ts";
import type { IndexSource, TableInUse } from "./index-source.ts";
import type { IndexPosition, IndexState, IndexStateModel } from "./index-state.ts";
import { createTableUpkeep } from "./table-upkeep.ts";

/** How often the lease is renewed. */
const BEAT_MS = 1_000;
const RETRY = { minMs: 200, maxMs: 10_000 };
/** How often the writer notes its position while nothing changes, and looks for tables to drop and vectors to index. */
const CHECK_EVERY_MS = 5_000;
/** A table that took longer to build gets what has changed since before it answers searches. */
const LONG_BUILD_MS = 5_000;

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
interface OpenIndex<Changed extends Record> extends TableInUse {
  /** Those after what it has. */
  changes: ChangeBatches<Changed>;
}

/**
 * Keeps an index in step with the database: one process at a time, which any other may replace at any moment. It builds the
 * index once, then follows the changes from where the last writer noted its position. An index that can't be used is dropped and
 * built again; searches read the database meanwhile. Changes are written before the position, and writing one again does no harm,
 * so a crash loses nothing. A writer that was paused past its lease can't undo what the next one has written, because a newer
 * revision of a document is never replaced.
 */
export class IndexWriter<Changed extends Record> implements BackgroundLoop {
  readonly name: string;
  readonly #source: IndexSource<Changed>;
  readonly #states: IndexStateModel;
  readonly #tables: SearchTables;
  readonly #lease: Lease;
  readonly #encoder: { model: string; dimensions: number };
  readonly #now: () => Date;
  readonly #log: Logger;
  /** Whether changes are missing from the index that can't be read any more. */
  #isHistoryLost = false;

  constructor({
    loop,
    source,
    states,
    tables,
    lease,
    encoder,
    now,
    log,
  }: {
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
  }) {
    this.name = loop;
    this.#source = source;
    this.#states = states;
    this.#tables = tables;
    this.#lease = lease;
    this.#encoder = encoder;
    this.#now = now;
    this.#log = log.child({ index: source.name });
  }

  run(signal: AbortSignal): Promise<void> {
    const [name, lease, log] = [this.name, this.#lease, this.#log];
    const failed = "couldn't write the search index";
    return repeat({ name, step: () => this.#write(signal), retry: RETRY, failed, lease, log }).run(signal);
  }

  /** Writes the index for as long as this process has the lease. @returns the pause before the next attempt */
  async #write(signal: AbortSignal): Promise<number> {
    if (!(await this.#lease.acquire())) return BEAT_MS;
    // Renewed through work that takes longer than it lasts, such as indexing a million vectors.
    const renewing = setInterval(() => {
      // A lease that is lost is noticed before the next write.
      void this.#lease.acquire().catch(() => undefined);
    }, BEAT_MS);
    try {
      await this.#follow(await this.#openOrBuild(signal), signal);
    } catch (error) {
      this.#isHistoryLost ||= isHistoryLost(error);
      throw error;
    } finally {
      clearInterval(renewing);
    }
    return BEAT_MS;
  }

  async #openOrBuild(signal: AbortSignal): Promise<OpenIndex<Changed>> {
    const state = await this.#states.findById(this.#source.name).lean();
    const present = state !== null && this.#isUsable(state) ? await this.#open(state) : undefined;
    return present ?? (await this.#build(state, signal));
  }

  /** Whether following the changes brings the index up to date. */
  #isUsable({ format, model, followedAt }: IndexState): boolean {
    const source = this.#source;
    if (this.#isHistoryLost || format !== source.format.version || model !== this.#encoder.model) return false;
    return this.#now().getTime() - followedAt.getTime() <= (source.mostAbsenceMs ?? Infinity);
  }

  /** The table that answers at the moment; undefined if it can't be read. */
  async #open({ table: name, resume }: IndexState): Promise<OpenIndex<Changed> | undefined> {
    try {
      const table = await this.#tables.open(name);
      await table.count();
      return { name, table, changes: inBatches(this.#source.watch(resume)) };
    } catch (error) {
      // If not even the names can be read, the place is out of reach for a while, and nothing is lost.
      await this.#tables.names();
      this.#log.error({ err: error, table: name }, "the search index can't be read and is being built again");
      return undefined;
    }
  }

  /** Drops the index and builds it in a new table, which answers searches once it is complete. */
  async #build(before: IndexState | null, signal: AbortSignal): Promise<OpenIndex<Changed>> {
    const source = this.#source;
    const startedAt = this.#now().getTime();
    const elapsedMs = () => this.#now().getTime() - startedAt;
    if (before !== null) await this.#states.deleteOne({ _id: source.name, table: before.table });
    await this.#requireLease();
    await this.#dropOthers(undefined);
    const resume: IndexPosition = { operationTime: await readOperationTime(source.connection) };
    const name = `${this.#tablePrefix}${this.#now().getTime().toString(36)}_${randomBytes(3).toString("hex")}`;
    const table = await this.#tables.create(name, source.format, this.#encoder.dimensions);
    const documents = await source.load({ name, table }, () => this.#requireLease());
    await table.tidy();
    const indexedVectors = await table.vectorsToIndex(0);
    if (indexedVectors > 0) await table.indexVectors();
    const changes = inBatches(source.watch(resume));
    try {
      if (elapsedMs() > LONG_BUILD_MS) await this.#catchUp({ name, table, changes }, signal);
      const token = changes.position();
      const state: IndexState = {
        _id: source.name,
        table: name,
        format: source.format.version,
        model: this.#encoder.model,
        resume: token === undefined ? resume : { token },
        indexedVectors,
        followedAt: this.#now(),
      };
      await this.#publish(state);
    } catch (error) {
      await changes.close();
      throw error;
    }
    this.#isHistoryLost = false;
    this.#log.info({ table: name, documents, ms: elapsedMs() }, "search index built");
    return { name, table, changes };
  }

  /** Writes what had changed by now, so that nothing which the database finds is missing from the table for long. */
  async #catchUp({ name, table, changes }: OpenIndex<Changed>, signal: AbortSignal): Promise<void> {
    const end = await readOperationTime(this.#source.connection);
    while (!signal.aborted) {
      const batch = await changes.next(LONG_BUILD_MS, signal);
      await this.#requireLease();
      if (batch.length > 0) await this.#source.apply(batch, { name, table });
      const last = batch.at(-1)?.clusterTime;
      if (last === undefined || last.greaterThanOrEqual(end)) return;
    }
  }

  /**
   * Names the table that answers searches from now on. A worker that was paused past its lease publishes nothing: another may have
   * published its own table since, or dropped this one.
   * @throws TakenOverError
   */
  async #publish(state: IndexState): Promise<void> {
    await this.#requireLease();
    if (!(await this.#tables.names()).includes(state.table)) throw new TakenOverError();
    try {
      await this.#states.create(state);
    } catch (error) {
      throw isDuplicateKey(error) ? new TakenOverError() : error;
    }
  }

  /** Follows the changes until the signal aborts or another process takes over. */
  async #follow({ name, table, changes }: OpenIndex<Changed>, signal: AbortSignal): Promise<void> {
    const source = this.#source;
    const states = this.#states;
    const upkeep = createTableUpkeep({ index: source.name, target: { name, table }, states, log: this.#log });
    let checkAt = performance.now();
    try {
      while (!signal.aborted) {
        const batch = await changes.next(BEAT_MS, signal);
        if (!(await this.#lease.acquire())) return;
        if (batch.length > 0) await source.apply(batch, { name, table });
        await upkeep.afterWrite(batch.length);
        const isCheckDue = performance.now() >= checkAt;
        if (batch.length === 0 && !isCheckDue) continue;
        const resume = changes.position() === undefined ? {} : { resume: { token: changes.position() } };
        const noted = await states.updateOne({ _id: source.name, table: name }, { followedAt: this.#now(), ...resume });
        if (noted.matchedCount === 0) return;
        if (!isCheckDue) continue;
        checkAt = performance.now() + CHECK_EVERY_MS;
        await this.#dropOthers(name);
        upkeep.indexVectors();
      }
    } finally {
      await changes.close();
      await upkeep.tidied();
    }
  }

  /** Drops tables that no search reads: of a replaced index, or of a writer that died while it was building. */
  async #dropOthers(kept: string | undefined): Promise<void> {
    for (const name of await this.#tables.names()) {
      if (!name.startsWith(this.#tablePrefix) || name === kept) continue;
      await this.#source.forget?.(name);
      await this.#tables.drop(name);
    }
  }

  async #requireLease(): Promise<void> {
    if (!(await this.#lease.acquire())) throw new TakenOverError();
  }

  get #tablePrefix(): string {
    return `${this.#source.name}_`;
  }
}

/** Whether the database no longer has the changes after a position. */
function isHistoryLost(error: unknown): boolean {
  if (error instanceof ChangeStreamEndedError) return true;
  return error instanceof MongoServerError && HISTORY_LOST.has(Number(error.code));
}

async function readOperationTime(connection: Connection): Promise<Timestamp> {
  const { operationTime }: { operationTime?: Timestamp } = await connection
    .getClient()
    .db("admin")
    .command({ ping: 1 });
  if (operationTime === undefined) throw new Error("The database doesn't report its operation time");
  return operationTime;
}
