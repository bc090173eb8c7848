const DIGITS = 3;
const SCALE = 10 ** DIGITS;
const BASE = 10;
const LEAST_ROUNDED_UP = 5;

/** Counts of rounded values as they are stored; both lists have the same order. */
export interface RoundedRecord {
  keys: number[];
  counts: number[];
}

/**
 * Counts of values, each rounded to three significant digits, so that the median of any number of values takes little
 * memory. A value of up to three digits stays exact; any other is off by 0.5% at most.
 */
export class RoundedValues {
  /** By the number of dropped digits times 1,000, plus the digits that are kept: sorts like the values. */
  readonly #counts = new Map<number, number>();
  #size = 0;

  /** Reads what `record` has written. */
  static of({ keys, counts }: RoundedRecord): RoundedValues {
    const values = new RoundedValues();
    for (const [index, key] of keys.entries()) values.#count(key, counts[index] ?? 0);
    return values;
  }

  /** All that it knows, to be stored. */
  record(): RoundedRecord {
    return { keys: [...this.#counts.keys()], counts: [...this.#counts.values()] };
  }

  /** How many values were added. */
  get size(): number {
    return this.#size;
  }

  /** Adds a value of 0 or more. */
  add(value: bigint): void {
    this.#count(toKey(value), 1);
  }

  /** Adds all values of another. */
  addAll(other: RoundedValues): void {
    for (const [key, count] of other.#counts) this.#count(key, count);
  }

  /** The middle value; of an even number of values the mean of the two in the middle, rounded down. Null without values. */
  median(): bigint | null {
    if (this.#size === 0) return null;
    const lower = Math.floor((this.#size - 1) / 2);
    const upper = Math.floor(this.#size / 2);
    let below = 0;
    let first: bigint | undefined;
    for (const key of [...this.#counts.keys()].sort((one, other) => one - other)) {
      below += this.#counts.get(key) ?? 0;
      if (below > lower) first ??= fromKey(key);
      if (first !== undefined && below > upper) return (first + fromKey(key)) / 2n;
    }
    throw new RangeError(`${this.#size} values have no middle`);
  }

  #count(key: number, count: number): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
    this.#size += count;
  }
}

function toKey(value: bigint): number {
  const text = String(value);
  const dropped = Math.max(0, text.length - DIGITS);
  const kept = Number(text.slice(0, DIGITS)) + (Number(text[DIGITS] ?? 0) >= LEAST_ROUNDED_UP ? 1 : 0);
  return kept === SCALE ? (dropped + 1) * SCALE + SCALE / BASE : dropped * SCALE + kept;
}

function fromKey(key: number): bigint {
  return BigInt(key % SCALE) * BigInt(BASE) ** BigInt(Math.floor(key / SCALE));
}
