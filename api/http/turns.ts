/**
 * Shares a few turns among connections whose requests wait, one request a turn, so that a connection with many requests can't
 * delay the others.
 */
export class Turns<Connection> {
  readonly #count: number;
  readonly #longestMs: number;
  readonly #begin: (connection: Connection) => Promise<void> | undefined;
  /** Those that wait for a turn, in their order. */
  readonly #queue = new Set<Connection>();
  #taken = 0;

  /**
   * @param count requests that have a turn at once
   * @param longestMs when a turn ends although its request is still being handled, in milliseconds
   * @param begin begins the connection's next request; undefined if it has none, or no room for one
   */
  constructor(count: number, longestMs: number, begin: (connection: Connection) => Promise<void> | undefined) {
    this.#count = count;
    this.#longestMs = longestMs;
    this.#begin = begin;
  }

  /** Asks for a turn. A connection that has just had one goes to the end of the queue. */
  request(connection: Connection): void {
    this.#queue.add(connection);
    this.#next();
  }

  #next(): void {
    for (const connection of this.#queue) {
      if (this.#taken >= this.#count) return;
      this.#queue.delete(connection);
      const handled = this.#begin(connection);
      if (handled === undefined) continue;
      this.#taken += 1;
      void this.#hold(connection, handled);
    }
  }

  async #hold(connection: Connection, handled: Promise<void>): Promise<void> {
    const { promise: over, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, this.#longestMs, undefined);
    await Promise.race([handled, over]);
    clearTimeout(timer);
    this.#taken -= 1;
    // It may have asked for its next turn meanwhile, before others did.
    this.#queue.delete(connection);
    this.request(connection);
  }
}
