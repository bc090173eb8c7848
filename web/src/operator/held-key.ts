/** How long the key is held without a key pressed or a pointer used, in milliseconds. */
export const IDLE_MS = 30 * 60_000;

/** The admin key, in the memory of this tab alone. It is forgotten once nobody has used the page for a while. */
export class HeldKey {
  #key: string | undefined;
  #usedAt = 0;
  readonly #now: () => number;

  /** @param now the wall clock in milliseconds: others stand still while the machine sleeps */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Holds a key, as of now. */
  hold(key: string): void {
    this.#key = key;
    this.#usedAt = this.#now();
  }

  /** Notes that somebody uses the page. A key whose time is over is forgotten, not held on. */
  touch(): void {
    if (this.read() !== undefined) this.#usedAt = this.#now();
  }

  /** The key; undefined without one, and once its time is over. */
  read(): string | undefined {
    this.expire();
    return this.#key;
  }

  /** Forgets a key whose time is over. @returns whether that was now */
  expire(): boolean {
    if (this.#key === undefined) return false;
    const idleMs = this.#now() - this.#usedAt;
    // Of a clock that was set back, nobody knows how long ago it was.
    if (idleMs >= 0 && idleMs < IDLE_MS) return false;
    this.forget();
    return true;
  }

  forget(): void {
    this.#key = undefined;
  }
}
