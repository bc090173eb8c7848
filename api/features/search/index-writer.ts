import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import type { Table } from "@lancedb/lancedb";
import { MongoServerError } from "mongodb";
import type { ChangeStreamDocument, Timestamp } from "mongodb";

import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import { toListing } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import { ChangeStreamEndedError, inBatches } from "./change-batches.ts";
import { fromBytes } from "./embedding/vectors.ts";
import type { LanceTables, StoredDocument } from "./engine/lance-tables.ts";
import { addAll, applyAll, indexVectors, needsVectorIndex, tidy, vectorsOf } from "./engine/lance-writes.ts";
import type { RemovedDocument } from "./engine/lance-writes.ts";
import type { IndexState, IndexStateModel } from "./index-state.ts";
import { LISTING_FORMAT, LISTING_INDEX, listingFormat } from "./listing-format.ts";

/** Dependencies of the writer. */
export interface IndexWriterDeps {
  listings: ListingModel;
  states: IndexStateModel;
  tables: LanceTables;
  /** Held by the only process that writes. */
  lease: Lease;
  /** The encoder's name and the length of its vectors. Vectors of other models are ignored. */
  encoder: { model: string; dimensions: number };
  now: () => Date;
  log: Logger;
}

const TABLE_PREFIX = `${LISTING_INDEX}_`;
const LOADED_AT_ONCE = 1_000;
/** How often the lease is renewed, and the position is noted while nothing changes. */
const BEAT_MS = 1_000;
/** Share of listings without a vector of the new model with which its index may answer. */
const PENDING_SHARE = 0.01;
const RETRY = { minMs: 200, maxMs: 10_000 };
/** After so many writes, or changed documents, the table is tidied. */
const WRITES_TO_TIDY = 50;
const DOCUMENTS_TO_TIDY = 500;
/** How often it is checked what isn't wanted any more and what is missing. */
const CHECK_EVERY_MS = 5_000;
/** For how long a replaced table stays for searches that still read it. */
const RETIRED_KEPT_MS = 60_000;

/**
 * ChangeStreamHistoryLost, ChangeStreamFatalError and InvalidResumeToken, and the codes for a token that can't be parsed.
 */
const HISTORY_LOST: ReadonlySet<number> = new Set([286, 280, 260, 9, 40_647, 50_811]);

/** What a listing's change means for the index. */
type Write = { put: StoredDocument<Listing>; isOtherModel: boolean } | { remove: RemovedDocument };

/** An index that is being written. */
interface OpenIndex {
  state: IndexState;
  table: Table;
}

/**
 * Keeps the index of active listings in step with the database: one process at a time, which any other may replace at any
 * moment. It builds the index once, then follows the changes from where the last writer noted its position. Changes are written
 * before the position, and writing one again does no harm, so a crash loses nothing. A writer that was paused past its lease
 * can't undo what the next one has written, because a newer revision of a listing is never replaced.
 */
export function createIndexWriter(deps: IndexWriterDeps): BackgroundLoop {
  const { listings, states, tables, lease, encoder, now, log } = deps;

  function writeOf(record: ListingRecord, model: string): Write {
    const { _id: id, revision, status, embedding } = record;
    if (status !== "active") return { remove: { id, revision } };
    const isOtherModel = embedding !== null && embedding.model !== model;
    const vector = embedding === null || isOtherModel ? null : fromBytes(bytesOf(embedding.vector));
    return { put: { document: toListing(record), revision, vector }, isOtherModel };
  }

  /** Builds the index in a table of its own, which answers searches once it is complete. */
  async function build(before: IndexState | null): Promise<OpenIndex> {
    const startedAt = performance.now();
    const operationTime = await operationTimeOf(listings);
    const name = `${TABLE_PREFIX}${now().getTime().toString(36)}_${randomBytes(3).toString("hex")}`;
    const table = await tables.create(name, listingFormat, encoder.dimensions);
    let batch: StoredDocument<Listing>[] = [];
    let count = 0;
    const flush = async (): Promise<void> => {
      if (!(await lease.acquire())) throw new Error("Another worker has taken over");
      await addAll(table, listingFormat, batch);
      count += batch.length;
      batch = [];
    };
    for await (const record of listings.find({ status: "active" }).lean<ListingRecord[]>().cursor()) {
      const write = writeOf(record, encoder.model);
      if ("put" in write) batch.push(write.put);
      if (batch.length >= LOADED_AT_ONCE) await flush();
    }
    await flush();
    await tidy(table);
    if (await needsVectorIndex(table)) await indexVectors(table);
    const state: IndexState = {
      ...{ _id: LISTING_INDEX, table: name, format: LISTING_FORMAT, model: encoder.model },
      ...{ resume: { operationTime }, followedAt: now() },
      retired: [...(before?.retired ?? []), ...(before === null ? [] : [{ table: before.table, at: now() }])],
    };
    await states.replaceOne({ _id: LISTING_INDEX }, state, { upsert: true });
    log.info({ table: name, listings: count, ms: Math.round(performance.now() - startedAt) }, "search index built");
    return { state, table };
  }

  /** Whether the encoder has embedded the active listings, apart from a few that it may never be able to. */
  async function isEmbedded(): Promise<boolean> {
    const status = "active";
    const pending = await listings.countDocuments({ status, "embedding.model": { $ne: encoder.model } });
    return pending === 0 || pending < PENDING_SHARE * (await listings.countDocuments({ status }));
  }

  /**
   * The index as it is; a new one if there is none, or one that can't be read, or is outdated.
   * @param isLost whether changes are missing from it that can't be read any more
   */
  async function openOrBuild(isLost: boolean): Promise<OpenIndex> {
    const state = await states.findById(LISTING_INDEX).lean<IndexState | null>();
    if (state === null || isLost) return await build(state);
    if (state.format !== LISTING_FORMAT) return await build(state);
    // Until all listings are embedded, the index of the old model answers.
    if (state.model !== encoder.model && (await isEmbedded())) return await build(state);
    try {
      const table = await tables.open(state.table);
      await table.countRows();
      return { state, table };
    } catch (error) {
      log.error({ err: error, table: state.table }, "the search index can't be read and is being built again");
      return await build(state);
    }
  }

  /** Drops tables that no search reads any more, and what a writer was building when it died. */
  async function dropRetired({ table, retired }: IndexState): Promise<void> {
    const due = now().getTime() - RETIRED_KEPT_MS;
    const wanted = new Set([table, ...retired.filter(({ at }) => at.getTime() > due).map((each) => each.table)]);
    for (const name of await tables.names()) {
      if (name.startsWith(TABLE_PREFIX) && !wanted.has(name)) await tables.drop(name);
    }
  }

  /** Follows the changes until the signal aborts, another process takes over, or the index has to be built again. */
  async function follow({ state, table }: OpenIndex, signal: AbortSignal): Promise<void> {
    const { token, operationTime } = state.resume;
    const from = token === undefined ? { startAtOperationTime: operationTime as Timestamp } : { resumeAfter: token };
    const changes = inBatches<ListingRecord>(
      listings.collection.watch<ListingRecord>([], { fullDocument: "updateLookup", ...from }),
    );
    let untidied = { writes: 0, documents: 0 };
    let indexing: Promise<void> | undefined;
    let checkAt = performance.now();
    try {
      while (!signal.aborted) {
        const batch = await changes.next(BEAT_MS, signal);
        if (!(await lease.acquire())) return;
        if (batch.length > 0) {
          await write(batch, { state, table });
          untidied = { writes: untidied.writes + 1, documents: untidied.documents + batch.length };
        }
        const resume = changes.position() === undefined ? {} : { resume: { token: changes.position() } };
        const noted = await states.updateOne(
          { _id: LISTING_INDEX, table: state.table },
          { followedAt: now(), ...resume },
        );
        if (noted.matchedCount === 0) return;
        if (untidied.writes >= WRITES_TO_TIDY || untidied.documents >= DOCUMENTS_TO_TIDY) {
          await tidy(table);
          untidied = { writes: 0, documents: 0 };
        }
        if (performance.now() < checkAt) continue;
        checkAt = performance.now() + CHECK_EVERY_MS;
        if (state.model !== encoder.model && (await isEmbedded())) return;
        await dropRetired(state);
        if (indexing === undefined && (await needsVectorIndex(table))) {
          indexing = indexVectors(table)
            .catch((error: unknown) => {
              log.error({ err: error }, "couldn't index the vectors of the search index; trying again");
            })
            .finally(() => {
              indexing = undefined;
            });
        }
      }
    } finally {
      await changes.close();
    }
  }

  async function write(batch: readonly ChangeStreamDocument<ListingRecord>[], { state, table }: OpenIndex) {
    /** The last of each listing's changes has its newest version. */
    const writes = new Map<string, Write>();
    for (const change of batch) {
      if (change.operationType === "delete") {
        const { _id: id } = change.documentKey;
        writes.set(id, { remove: { id, revision: undefined } });
      } else if ("fullDocument" in change && change.fullDocument) {
        // A document that has been deleted since the change has none: null, although the type doesn't say so. Its deletion follows.
        writes.set(change.fullDocument._id, writeOf(change.fullDocument, state.model));
      }
    }
    const all = [...writes.values()];
    const put = all.flatMap((each) => ("put" in each ? [each] : []));
    // The listing was embedded for the next index: in this one it keeps the vector that it has.
    const kept = await vectorsOf(
      table,
      listingFormat,
      put.filter(({ isOtherModel }) => isOtherModel).map(({ put: { document } }) => document),
    );
    await applyAll(
      table,
      listingFormat,
      put.map(({ put: stored }) => ({ ...stored, vector: stored.vector ?? kept.get(stored.document.id) ?? null })),
      all.flatMap((each) => ("remove" in each ? [each.remove] : [])),
    );
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
    name: "search.write-index",
    async run(signal) {
      let failures = 0;
      let isLost = false;
      while (!signal.aborted) {
        let pauseMs = BEAT_MS;
        try {
          if (await lease.acquire()) {
            await whileRenewing(async () => {
              const index = await openOrBuild(isLost);
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

async function operationTimeOf(listings: ListingModel): Promise<Timestamp> {
  const { operationTime }: { operationTime?: Timestamp } = await listings.db
    .getClient()
    .db("admin")
    .command({ ping: 1 });
  if (operationTime === undefined) throw new Error("The database doesn't report its operation time");
  return operationTime;
}

/** Stored bytes are a Buffer from mongoose and a BSON Binary from a change stream. */
function bytesOf(stored: unknown): Uint8Array {
  if (stored instanceof Uint8Array) return stored;
  return (stored as { buffer: Uint8Array }).buffer;
}
