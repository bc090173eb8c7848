import type { ChangeStreamDocument, Document } from "mongodb";
import type { Connection, Model } from "mongoose";

import type { Logger } from "../lib/logger.ts";
import { repeat } from "./background-loop.ts";
import type { BackgroundLoop } from "./background-loop.ts";

type Listener = (change: ChangeStreamDocument) => void;

/** Pause before a lost change stream is opened again. */
const REOPEN = { minMs: 1_000, maxMs: 1_000 };
/** How long the server holds a read of the stream while nothing changes. Each read costs as much as a query. */
const MAX_AWAIT_MS = 30_000;

/**
 * The changes of some collections, read by one stream for all loops of the process that wait for them. Some may be missed while a
 * lost stream is opened again, so a loop also looks from time to time.
 */
export class Changes {
  readonly #listeners = new Map<string, Listener[]>();
  readonly #connection: Connection;
  readonly loop: BackgroundLoop;

  constructor({ connection, log }: { connection: Connection; log: Logger }) {
    this.#connection = connection;
    this.loop = repeat({
      name: "changes.follow",
      step: (signal) => this.#follow(signal),
      retry: REOPEN,
      failed: "lost the change stream",
      log,
    });
  }

  /** Calls `onChange` for every change of a collection while the loop runs. To be called before that. */
  on<T extends Document>(model: Model<T>, onChange: (change: ChangeStreamDocument<T>) => void): void {
    const { collectionName } = model.collection;
    this.#listeners.set(collectionName, [...(this.#listeners.get(collectionName) ?? []), onChange as Listener]);
  }

  async #follow(signal: AbortSignal): Promise<number> {
    const stream = this.#connection
      .getClient()
      .db(this.#connection.name)
      .watch([{ $match: { "ns.coll": { $in: [...this.#listeners.keys()] } } }], { maxAwaitTimeMS: MAX_AWAIT_MS });
    const close = () => void stream.close().catch(() => undefined);
    signal.addEventListener("abort", close, { once: true });
    try {
      for await (const change of stream) {
        if (!("ns" in change && "coll" in change.ns)) continue;
        for (const onChange of this.#listeners.get(change.ns.coll) ?? []) onChange(change);
      }
    } catch (error) {
      // Closing it ends a read with an error.
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener("abort", close);
      await stream.close();
    }
    return REOPEN.minMs;
  }
}
