import { LRUCache } from "lru-cache";

/** A reading: it is under way, or ended a short time ago. */
interface Entry<Value> {
  value: Promise<Value>;
  /** On the clock of `now`; Infinity while it is under way. */
  until: number;
}

/** Settings of kept values. */
export interface KeptOptions<Value> {
  /** How old a value may be, in milliseconds. */
  maxAgeMs: number;
  /** How many values are kept: those that were asked for last. */
  maxEntries: number;
  /** Whether a value is kept at all; by default each is. */
  isKept?: (value: Value) => boolean;
  /** The clock, in milliseconds; by default a monotonic one. */
  now?: () => number;
}

/**
 * Keeps what was read for a while, by key. Those who ask for the same at the same time wait for one reading. Its failure is given
 * to all of them and isn't kept.
 */
export class KeptByKey<Value> {
  readonly #entries: LRUCache<string, Entry<Value>>;
  readonly #maxAgeMs: number;
  readonly #isKept: (value: Value) => boolean;
  readonly #now: () => number;

  constructor({ maxAgeMs, maxEntries, isKept = () => true, now = () => performance.now() }: KeptOptions<Value>) {
    this.#entries = new LRUCache({ max: maxEntries });
    this.#maxAgeMs = maxAgeMs;
    this.#isKept = isKept;
    this.#now = now;
  }

  /** The value, read if none is kept. Rejects as its reading does. */
  read(key: string, read: () => Promise<Value>): Promise<Value> {
    return this.#get(key) ?? this.#renew(key, read);
  }

  /** The same where a reading may fail because of who asks: another's failure, or what isn't kept of it, is never the answer. */
  async readAs(key: string, read: () => Promise<Value>): Promise<Value> {
    const kept = await this.#get(key)?.catch(() => undefined);
    return kept !== undefined && this.#isKept(kept) ? kept : this.#renew(key, read);
  }

  #get(key: string): Promise<Value> | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#now() < entry.until ? entry.value : undefined;
  }

  #renew(key: string, read: () => Promise<Value>): Promise<Value> {
    const entry: Entry<Value> = { value: read(), until: Infinity };
    this.#entries.set(key, entry);
    const forget = () => {
      if (this.#entries.peek(key) === entry) this.#entries.delete(key);
    };
    entry.value.then((value) => {
      // Counted from its end, so that a slow reading is shared too.
      if (this.#isKept(value)) entry.until = this.#now() + this.#maxAgeMs;
      else forget();
    }, forget);
    return entry.value;
  }
}

const ONLY = "";

/** The same for one value. */
export class Kept<Value> {
  readonly #read: () => Promise<Value>;
  readonly #values: KeptByKey<Value>;

  constructor(read: () => Promise<Value>, maxAgeMs: number, now?: () => number) {
    this.#read = read;
    this.#values = new KeptByKey({ maxAgeMs, maxEntries: 1, ...(now && { now }) });
  }

  /** The value, read at most `maxAgeMs` ago. Rejects as the reading did; the next call then reads again. */
  get(): Promise<Value> {
    return this.#values.read(ONLY, this.#read);
  }
}
