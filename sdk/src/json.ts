import { RefusedError } from "./errors.ts";

/**
 * The JSON text that the service reads as exactly this value. Amounts as `bigint` become texts, which is how the service takes
 * amounts. What JSON would change without a word is refused.
 * @returns undefined for a value without a JSON form, like JSON.stringify
 * @throws RefusedError for an integer beyond ±(2^53 - 1), which may already be another than was meant, and for NaN and
 * infinities, which JSON writes as null; the message says where it is
 */
export function jsonText(value: unknown): string | undefined {
  const places = new Map<unknown, string>();
  function replace(this: unknown, name: string, part: unknown): unknown {
    const holder = places.get(this);
    const place = holder === undefined ? "" : `${holder}${holder === "" ? "" : "."}${name}`;
    if (typeof part === "number") assertExact(part, place === "" ? "the value" : place);
    if (typeof part === "object" && part !== null) places.set(part, place);
    return bigintAsText(name, part);
  }
  return JSON.stringify(value, replace);
}

/** Replaces a `bigint` by its digits, for JSON.stringify. */
export function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

function assertExact(number: number, place: string): void {
  if (!Number.isFinite(number)) throw new RefusedError(`${place} is ${number}, which JSON doesn't have`);
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw new RefusedError(
      `${place} is ${number}, beyond the integers that a number keeps; give it as bigint or as a string`,
    );
  }
}
