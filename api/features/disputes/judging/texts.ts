/**
 * Characters that a reader can't see or that change the order of what is seen: controls, format characters (zero width,
 * bidirectional, tags), variation selectors, fillers, private use, lone surrogates.
 */
const HIDDEN =
  /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\u2800]/gu;
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g;
/** Scripts need two or three marks on a letter. More cover the lines around it. */
const STACKED_MARKS = /(\p{M}{4})\p{M}+/gu;

/** A text without its hidden characters. */
export interface CleanText {
  text: string;
  /** Number of characters removed. */
  removed: number;
}

/** Removes hidden characters. Line breaks and tabs stay. */
export function cleanText(text: string): CleanText {
  let removed = 0;
  const count = (match: string, kept = ""): string => {
    removed += Array.from(match).length - Array.from(kept).length;
    return kept;
  };
  const clean = text
    .replace(LINE_BREAKS, "\n")
    .replace(HIDDEN, (match) => count(match))
    .replace(STACKED_MARKS, (match: string, kept: string) => count(match, kept));
  return { text: clean, removed };
}

/** A text of at most this many UTF-16 units, without half a character at its end. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) ? length - 1 : length;
  return text.slice(0, end);
}

/** A short quotation on one line, for a sentence of a ruling. */
export function quote(text: string, length = 160): string {
  const line = cleanText(text).text.replaceAll(/\s+/g, " ").replaceAll('"', "'").trim();
  return `"${line.length > length ? `${clip(line, length - 1)}…` : line}"`;
}

/** Whether a value has anything that a reader can see: a number, a boolean, or a text with a visible character. */
export function hasContent(value: unknown): boolean {
  // A stack of its own: a stranger's JSON may be deeper than the call stack.
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === "string") {
      if (cleanText(next).text.trim() !== "") return true;
    } else if (typeof next === "object" && next !== null) {
      for (const inner of Object.values(next)) waiting.push(inner);
    } else if (next !== undefined && next !== null) {
      return true;
    }
  }
  return false;
}

/** The keys and texts inside a value. */
export interface Inside {
  /** Keys of its objects. */
  keys: string[];
  strings: string[];
  /** Number of its numbers and booleans. */
  others: number;
}

/** The texts inside of a value whose depth is bounded. */
export function inside(value: unknown): Inside {
  const found: Inside = { keys: [], strings: [], others: 0 };
  const collect = (next: unknown): void => {
    if (typeof next === "string") found.strings.push(next);
    else if (typeof next === "number" || typeof next === "boolean") found.others += 1;
    else if (Array.isArray(next)) for (const item of next) collect(item);
    else if (typeof next === "object" && next !== null) {
      for (const [key, inner] of Object.entries(next)) {
        found.keys.push(key);
        collect(inner);
      }
    }
  };
  collect(value);
  return found;
}
