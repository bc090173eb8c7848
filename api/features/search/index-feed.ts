import { setTimeout as sleep } from "node:timers/promises";

import type { ChangeStream, ChangeStreamDocument, Timestamp } from "mongodb";

import type { Logger } from "../../lib/logger.ts";
import { toListing } from "../listings/listing.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import type { ListingIndex } from "./listing-index.ts";
import { fromBytes } from "./embedding/vectors.ts";

/** Keeps the index in step with the stored listings, including changes by other processes. */
export interface IndexFeed {
  /** Loads everything once, then follows changes in the background. */
  start(): Promise<void>;
  /** Whether changes are being followed: false before the start and while a lost stream is being restored. */
  isFollowing(): boolean;
  close(): Promise<void>;
}

/** Dependencies of the feed. */
export interface IndexFeedDeps {
  listings: ListingModel;
  index: ListingIndex;
  /** Name of the encoder's model. Vectors of other models are ignored. */
  model: string;
  log: Logger;
}

const RELOAD_PAUSE_MS = 1_000;

type Change = ChangeStreamDocument<ListingRecord>;

/**
 * A feed based on a change stream. The stream starts at a time before the load, so no change is missed between the two,
 * and applying a change twice is harmless. If a stream breaks for good, everything is loaded again.
 */
export function createIndexFeed({ listings, index, model, log }: IndexFeedDeps): IndexFeed {
  let stream: ChangeStream<ListingRecord, Change> | undefined;
  const closing = new AbortController();
  const isClosing = (): boolean => closing.signal.aborted;
  let applying: Promise<void> | undefined;
  let isStreaming = false;

  async function apply(record: ListingRecord): Promise<void> {
    if (record.status !== "active") {
      await index.remove(record._id);
      return;
    }
    const isUsable = record.embedding?.model === model;
    await index.put(toListing(record), isUsable ? fromBytes(bytesOf(record.embedding?.vector)) : null);
  }

  async function load(): Promise<Timestamp> {
    const before: { operationTime?: Timestamp } = await listings.db.getClient().db("admin").command({ ping: 1 });
    if (before.operationTime === undefined) throw new Error("The database doesn't report its operation time");
    const stale = new Set(await index.ids());
    for await (const record of listings.find({ status: "active" }).lean().cursor()) {
      await apply(record);
      stale.delete(record._id);
    }
    for (const id of stale) await index.remove(id);
    return before.operationTime;
  }

  async function follow(from: Timestamp): Promise<void> {
    stream = listings.collection.watch<ListingRecord, Change>([], {
      fullDocument: "updateLookup",
      startAtOperationTime: from,
    });
    isStreaming = true;
    for await (const change of stream) {
      applying = applyChange(change);
      await applying;
    }
  }

  async function applyChange(change: Change): Promise<void> {
    if (change.operationType === "delete") await index.remove(change.documentKey._id);
    // A document that has been deleted since the change has no full version. Its deletion follows.
    else if ("fullDocument" in change && change.fullDocument) await apply(change.fullDocument);
  }

  async function followUntilClosed(from: Timestamp): Promise<void> {
    let next = from;

    while (!isClosing()) {
      try {
        await follow(next);
      } catch (error) {
        if (isClosing()) return;
        log.warn({ err: error }, "the search index lost its change stream and is being reloaded");
      }
      isStreaming = false;
      await sleep(RELOAD_PAUSE_MS, undefined, { signal: closing.signal }).catch(() => undefined);
      if (!isClosing()) next = await load().catch(() => next);
    }
  }

  return {
    async start() {
      const from = await load();
      log.info({ listings: await index.count() }, "search index loaded");
      void followUntilClosed(from);
    },
    isFollowing: () => isStreaming,
    async close() {
      closing.abort();
      await stream?.close();
      // Not the stream's loop: it ends with the answer to its last request, for which the server may take a second.
      await applying?.catch(() => undefined);
    },
  };
}

/** Stored bytes are a Buffer from mongoose and a BSON Binary from a change stream. */
function bytesOf(stored: unknown): Uint8Array {
  if (stored instanceof Uint8Array) return stored;
  const { buffer } = stored as { buffer: Uint8Array };
  return buffer;
}
