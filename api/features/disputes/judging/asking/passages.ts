import type { LeftOut } from "../case.ts";
import type { Shown } from "./view.ts";

/** A part of a shown text that can be left out by itself: a sentence, a long key, or a list of words. */
export interface Passage extends LeftOut {
  /** Its place among the passages of all that is shown. */
  id: number;
}

/** Shorter keys are labels. */
const LONG_KEY = 24;
const WORDS_OF_LIST_ITEM = 3;
const SENTENCE_ENDS = /(?<=[.!?]["')\]]?\s)|(?<=[。！？\n])/u;
const LEFT_OUT = "…";

/** Every passage of what is shown, in its order. */
export function collectPassages(shown: readonly Shown[]): Passage[] {
  const walk = new Walk(() => true);
  walk.all(shown);
  return walk.found;
}

/** Copies the shown texts with only the wanted passages. */
export function showOnly(shown: readonly Shown[], isWanted: (id: number) => boolean): Shown[] {
  return new Walk(isWanted).all(shown);
}

/** Copies values and numbers their passages. The same values always have the same numbers. */
class Walk {
  readonly found: Passage[] = [];
  readonly #isWanted: (id: number) => boolean;

  constructor(isWanted: (id: number) => boolean) {
    this.#isWanted = isWanted;
  }

  all(shown: readonly Shown[]): Shown[] {
    return shown.map((one) => ({ ...one, value: this.#value(one, one.value) }));
  }

  #keeps({ by, name }: Shown, text: string): boolean {
    const id = this.found.length;
    this.found.push({ id, by, field: name, text });
    return this.#isWanted(id);
  }

  #value(shown: Shown, value: unknown): unknown {
    if (typeof value === "string") return this.#text(shown, value);
    if (Array.isArray(value)) {
      if (isListOfWords(value)) return this.#keeps(shown, value.join(" ")) ? value : [];
      return value.map((item) => this.#value(shown, item));
    }
    if (typeof value !== "object" || value === null) return value;
    const copy = new Map<string, unknown>();
    for (const [key, inner] of Object.entries(value)) {
      const isLabel = key.length <= LONG_KEY && !/\s\S+\s/.test(key);
      const name = isLabel || this.#keeps(shown, key) ? key : freeName(copy);
      copy.set(name, this.#value(shown, inner));
    }
    return Object.fromEntries(copy);
  }

  #text(shown: Shown, text: string): string {
    const parts = text.split(SENTENCE_ENDS);
    return parts.filter((part) => part.trim() === "" || this.#keeps(shown, part)).join("");
  }
}

function isListOfWords(value: readonly unknown[]): value is string[] {
  const isShort = (item: unknown) => typeof item === "string" && item.trim().split(/\s+/).length <= WORDS_OF_LIST_ITEM;
  return value.length > 1 && value.every(isShort);
}

function freeName(taken: ReadonlyMap<string, unknown>): string {
  let name = LEFT_OUT;
  while (taken.has(name)) name += LEFT_OUT;
  return name;
}

const RUN_OF_WORDS = 5;
const WORD = /[\p{L}\p{M}\p{N}_]+/gu;

const wordsIn = (text: string) =>
  [...text.matchAll(WORD)].map((match) => ({
    word: match[0].toLowerCase(),
    from: match.index,
    to: match.index + match[0].length,
  }));

/** Cuts runs of five or more words that also stand in the other party's texts: it may have had them put there. */
export function removeWords(texts: readonly string[], shown: readonly Shown[]): { shown: Shown[]; cut: LeftOut[] } {
  const runs = new Set<string>();
  for (const text of texts) {
    const words = wordsIn(text).map(({ word }) => word);
    for (let at = 0; at + RUN_OF_WORDS <= words.length; at += 1) runs.add(words.slice(at, at + RUN_OF_WORDS).join(" "));
  }
  const cut: LeftOut[] = [];
  const ofText = (name: string, text: string): string => {
    const words = wordsIn(text);
    const isCut = words.map(() => false);
    for (let at = 0; at + RUN_OF_WORDS <= words.length; at += 1) {
      const run = words.slice(at, at + RUN_OF_WORDS).map(({ word }) => word);
      if (runs.has(run.join(" "))) isCut.fill(true, at, at + RUN_OF_WORDS);
    }
    let kept = "";
    let end = 0;
    for (let at = 0; at < words.length; at += 1) {
      if (isCut[at] !== true) continue;
      let last = at;
      while (isCut[last + 1] === true) last += 1;
      const [from, to] = [words[at]?.from ?? 0, words[last]?.to ?? 0];
      cut.push({ by: "buyer", field: name, text: text.slice(from, to) });
      kept += text.slice(end, from);
      end = to;
      at = last;
    }
    return kept + text.slice(end);
  };
  const ofValue = (name: string, value: unknown): unknown => {
    if (typeof value === "string") return ofText(name, value);
    if (Array.isArray(value)) return value.map((item) => ofValue(name, item));
    if (typeof value !== "object" || value === null) return value;
    const copy = new Map<string, unknown>();
    for (const [key, inner] of Object.entries(value)) {
      const kept = ofText(name, key);
      copy.set(copy.has(kept) ? freeName(copy) : kept, ofValue(name, inner));
    }
    return Object.fromEntries(copy);
  };
  const without = shown.map((one) => (one.by === "buyer" ? one : { ...one, value: ofValue(one.name, one.value) }));
  return { shown: without, cut };
}
