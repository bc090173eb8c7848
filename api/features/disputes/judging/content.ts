import { searchTerm, wordsOf } from "../../search/words.ts";
import { addressesJudge } from "./directives.ts";
import { clip, inside } from "./texts.ts";

/** What a payload says, without the sentences that address a judge. */
export interface Content {
  /** Its sentences. */
  passages: string[];
  /** All of them as one text. */
  text: string;
  words: number;
  /** Number of its numbers and booleans. */
  others: number;
  /** Stems of its words. */
  terms: Set<string>;
}

const MAX_PASSAGE = 400;

/** The stems of a text's words without stop words. */
export function termsOf(text: string): Set<string> {
  return new Set(wordsOf(text).flatMap((word) => searchTerm(word) ?? []));
}

/** The sentences of a text. */
function passagesOf(text: string): string[] {
  return text
    .split(/(?<=[.!?])\s+|\n+/)
    .map((passage) => clip(passage.trim(), MAX_PASSAGE))
    .filter((passage) => passage !== "");
}

/** The content of a payload's values, or of any other value. Keys are labels and don't count. */
export function contentOf(value: unknown): Content {
  const { strings, others } = inside(value);
  const passages = strings.flatMap(passagesOf).filter((passage) => !addressesJudge(passage));
  const text = passages.join("\n");
  return { passages, text, words: wordsOf(text).length, others, terms: termsOf(text) };
}
