/** A turn ends after this, although its request is still being handled, in milliseconds. */
const LONGEST_TURN_MS = 1_000;

/**
 * Shares a few turns among the connections that have sent requests ahead, one request a turn, so that however many are sent
 * ahead, the requests of all others wait for a few of them at most.
 */
export class PipelineTurns<Connection> {
  readonly #turns: number;
  readonly #begin: (connection: Connection) => Promise<void> | undefined;
  /** Those that wait for a turn, in their order. */
  readonly #queue = new Set<Connection>();
  #taken = 0;

  /** @param begin begins the connection's next request; undefined if it has none, or no room for one */
  constructor(turns: number, begin: (connection: Connection) => Promise<void> | undefined) {
    this.#turns = turns;
    this.#begin = begin;
  }

  /** Asks for a turn. A connection that has just had one goes to the end of the queue. */
  request(connection: Connection): void {
    this.#queue.add(connection);
    this.#next();
  }

  #next(): void {
    for (const connection of this.#queue) {
      if (this.#taken >= this.#turns) return;
      this.#queue.delete(connection);
      const handled = this.#begin(connection);
      if (handled === undefined) continue;
      this.#taken += 1;
      void this.#hold(connection, handled);
    }
  }

  async #hold(connection: Connection, handled: Promise<void>): Promise<void> {
    const { promise: over, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, LONGEST_TURN_MS, undefined);
    await Promise.race([handled, over]);
    clearTimeout(timer);
    this.#taken -= 1;
    // It may have asked for its next turn meanwhile, before others did.
    this.#queue.delete(connection);
    this.request(connection);
  }
}
