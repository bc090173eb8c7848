import { once } from "node:events";

import { MongoClient } from "mongodb";
import type { ChangeStream } from "mongodb";

import { now } from "../events/bench-process.ts";

/** How long the server holds a read of the stream that has no news. An event ends it at once. */
const MAX_AWAIT_MS = 1_000;

/** Events of a deal that follow its three moves. */
export type DealEvent = "escrow.funded" | "delivery.submitted" | "escrow.released";

interface InsertedEvent {
  transactionId: string | null;
  type: string;
}

/** Notes when events become visible in MongoDB, by a change stream: after the commit by the majority. */
export class EventWatch {
  readonly #client: MongoClient;
  readonly #stream: ChangeStream;
  readonly #waiting = new Map<string, (at: number) => void>();
  readonly #recorded = new Map<string, number>();

  private constructor(client: MongoClient, stream: ChangeStream) {
    this.#client = client;
    this.#stream = stream;
  }

  /** @param database the database of API and worker */
  static async open(mongodbUri: string, database: string): Promise<EventWatch> {
    const client = await MongoClient.connect(mongodbUri);
    const events = client.db(database).collection<InsertedEvent>("agent_events");
    const stream = events.watch([{ $match: { operationType: "insert" } }], { maxAwaitTimeMS: MAX_AWAIT_MS });
    const watch = new EventWatch(client, stream);
    stream.on("change", (change) => {
      if (change.operationType !== "insert") return;
      const { transactionId, type } = change.fullDocument;
      watch.#saw(`${transactionId ?? ""}:${type}`, now());
    });
    // The server has the stream's position once it has sent a resume token.
    await once(stream, "resumeTokenChanged");
    return watch;
  }

  /** When an event was recorded, once it is: milliseconds since 1970. */
  recorded(transactionId: string, type: DealEvent): Promise<number> {
    const key = `${transactionId}:${type}`;
    const at = this.#recorded.get(key);
    if (at !== undefined) return Promise.resolve(at);
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }

  async close(): Promise<void> {
    await this.#stream.close();
    await this.#client.close();
  }

  /** Both parties have the event in their logs, written by one transaction: the first counts. */
  #saw(key: string, at: number): void {
    if (this.#recorded.has(key)) return;
    this.#recorded.set(key, at);
    this.#waiting.get(key)?.(at);
    this.#waiting.delete(key);
  }
}
