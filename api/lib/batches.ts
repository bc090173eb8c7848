import type PQueue from "p-queue";

/** An item that waits for its turn. */
export interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Settings of batches. */
export interface BatchOptions<Item, Result> {
  /** Runs the batches. They can share it with others. */
  queue: PQueue;
  /** In the queue. Default 0. */
  priority?: number;
  /** Whether items fit into one batch. A single item always does. */
  fits: (items: readonly Item[]) => boolean;
  /** Settles each item. Its error rejects those that it hasn't settled. */
  run: (batch: readonly Waiting<Item, Result>[]) => Promise<void>;
}

/**
 * Collects the items of many callers into batches. A batch starts in the next turn of the event loop, so that items given together
 * run together. Items that have to wait for the queue share the next batch.
 */
export class Batches<Item, Result> {
  readonly #options: BatchOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #isStarting = false;

  constructor(options: BatchOptions<Item, Result>) {
    this.#options = options;
  }

  /** How many items wait. */
  get size(): number {
    return this.#waiting.length;
  }

  add(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ item, resolve, reject });
    this.#start();
    return promise;
  }

  /** Rejects what waits. */
  clear(error: Error): void {
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting = [];
  }

  #start(): void {
    if (this.#isStarting || this.#waiting.length === 0) return;
    this.#isStarting = true;
    const { queue, priority = 0 } = this.#options;
    setImmediate(() => void queue.add(() => this.#runNext(), { priority }));
  }

  async #runNext(): Promise<void> {
    this.#isStarting = false;
    const batch = this.#take();
    this.#start();
    try {
      if (batch.length > 0) await this.#options.run(batch);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  #take(): Waiting<Item, Result>[] {
    const { fits } = this.#options;
    const items = this.#waiting.map(({ item }) => item);
    let count = Math.min(1, items.length);
    while (count < items.length && fits(items.slice(0, count + 1))) count += 1;
    return this.#waiting.splice(0, count);
  }
}
