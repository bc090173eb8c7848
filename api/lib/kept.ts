/** Keeps what was read for a while. Those who ask at the same time wait for one reading. */
export class Kept<Value> {
  readonly #read: () => Promise<Value>;
  readonly #maxAgeMs: number;
  #current: { at: number; value: Promise<Value> } | undefined;

  constructor(read: () => Promise<Value>, maxAgeMs: number) {
    this.#read = read;
    this.#maxAgeMs = maxAgeMs;
  }

  /** The value, at most `maxAgeMs` old. Rejects as the reading did; the next call then reads again. */
  get(): Promise<Value> {
    const now = performance.now();
    if (this.#current !== undefined && now - this.#current.at < this.#maxAgeMs) return this.#current.value;
    const current = { at: now, value: this.#read() };
    this.#current = current;
    current.value.catch(() => {
      if (this.#current === current) this.#current = undefined;
    });
    return current.value;
  }
}
