import { setTimeout as sleep } from "node:timers/promises";

import type {
  ChangeStream,
  ChangeStreamDocument,
  ChangeStreamOptions,
  Collection,
  Db,
  Document,
  Timestamp,
} from "mongodb";

import type { IndexPosition } from "./index-state.ts";

/** Changes of a collection, in the batches in which they can be handled. */
export interface ChangeBatches<Record extends Document> {
  /**
   * The changes that have arrived since the last batch, at most about a thousand; none if `waitMs` pass without any.
   * @throws the stream's error, once it has broken
   */
  next(waitMs: number, signal: AbortSignal): Promise<ChangeStreamDocument<Record>[]>;
  /** Where a stream continues that hasn't seen any change after the last batch; undefined before the first answer. */
  position(): unknown;
  close(): Promise<void>;
}

/** Thrown when there can be no more changes, because the collection has been dropped or renamed. */
export class ChangeStreamEndedError extends Error {
  override readonly name = "ChangeStreamEndedError";
}

/** How long the server holds a read of the stream while nothing changes. */
const MAX_AWAIT_MS = 10_000;
/** Changes that wait before the stream is read on. */
const MOST_WAITING = 1_000;

/** The changes of a collection after a position, with each changed document as it is now. */
export function watchFrom<Record extends Document>(
  collection: Pick<Collection<Record>, "watch">,
  from: IndexPosition,
): ChangeStream<Record, ChangeStreamDocument<Record>> {
  return collection.watch<Record>([], optionsFrom(from));
}

/** The changes of some collections of a database after a position, in the order in which they happened. */
export function watchAllFrom<Record extends Document>(
  database: Pick<Db, "watch">,
  collections: readonly string[],
  from: IndexPosition,
): ChangeStream<Record, ChangeStreamDocument<Record>> {
  return database.watch<Record>([{ $match: { "ns.coll": { $in: collections } } }], optionsFrom(from));
}

function optionsFrom({ token, operationTime }: IndexPosition): ChangeStreamOptions {
  const from = token === undefined ? { startAtOperationTime: operationTime as Timestamp } : { resumeAfter: token };
  return { fullDocument: "updateLookup", maxAwaitTimeMS: MAX_AWAIT_MS, ...from };
}

/** Reads a change stream in batches: what arrives while a batch is being handled makes up the next one. */
export function inBatches<Record extends Document>(
  stream: ChangeStream<Record, ChangeStreamDocument<Record>>,
): ChangeBatches<Record> {
  let waiting: ChangeStreamDocument<Record>[] = [];
  let position: unknown;
  let failure: Error | undefined;
  let arrived = Promise.withResolvers<undefined>();
  let taken = Promise.withResolvers<undefined>();

  async function read(): Promise<void> {
    for await (const change of stream) {
      waiting.push(change);
      arrived.resolve(undefined);
      if (waiting.length >= MOST_WAITING) await taken.promise;
    }
    throw new ChangeStreamEndedError("The change stream has ended");
  }
  void read().catch((error: unknown) => {
    failure = error instanceof Error ? error : new Error(String(error));
    arrived.resolve(undefined);
  });

  return {
    async next(waitMs, signal) {
      const waited = new AbortController();
      const stopWaiting = AbortSignal.any([signal, waited.signal]);
      await Promise.race([arrived.promise, sleep(waitMs, undefined, { signal: stopWaiting }).catch(() => undefined)]);
      waited.abort();
      const batch = waiting;
      if (batch.length === 0 && failure !== undefined) throw failure;
      // Nothing waits: what the stream has read has been handed out, also changes that were none of its collection's.
      position = batch.at(-1)?._id ?? stream.resumeToken ?? position;
      waiting = [];
      if (failure === undefined) arrived = Promise.withResolvers();
      taken.resolve(undefined);
      taken = Promise.withResolvers();
      return batch;
    },
    position: () => position,
    async close() {
      await stream.close();
    },
  };
}
