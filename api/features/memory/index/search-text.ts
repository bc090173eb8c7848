/** Number of a value's characters that search reads. */
const SEARCHED_LENGTH = 2_000;

/**
 * The words of a value: a string itself; of other values the strings, numbers and field names inside, in order. Cut at
 * 2,000 characters.
 */
export function textOfValue(value: unknown): string {
  const words: string[] = [];
  let length = 0;
  const pending: unknown[] = [value];
  while (pending.length > 0 && length < SEARCHED_LENGTH) {
    const next = pending.pop();
    if (typeof next === "string" || typeof next === "number") {
      const word = String(next).slice(0, SEARCHED_LENGTH - length);
      words.push(word);
      length += word.length + 1;
    } else if (Array.isArray(next)) {
      pending.push(...(next as unknown[]).toReversed());
    } else if (typeof next === "object" && next !== null) {
      pending.push(...(Object.entries(next) as unknown[][]).flat().toReversed());
    }
  }
  return words.join(" ");
}

/** Parts of a key that say something. Numbers and parts with digits are mostly ids and dates. */
const KEY_WORD = /(?<![\p{L}\p{N}])\p{L}+(?![\p{L}\p{N}])/gu;

/** The text to embed: the words of the key and of the value, or the whole key if there are none. */
export function meaningOf(key: string, value: unknown): string {
  const text = [...(key.match(KEY_WORD) ?? []), textOfValue(value)].join(" ").trim();
  return text === "" ? key : text;
}
