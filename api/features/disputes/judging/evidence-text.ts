import { searchTerm, splitWords } from "../../../search/embedding/words.ts";
import type { DisputeCase } from "./case.ts";
import { addressesJudge } from "./prompt-injection.ts";
import { clip, inside } from "./texts.ts";

/** The content of a payload, with the sentences that address a judge set apart. */
export interface Content {
  /** Its sentences. */
  passages: string[];
  /** The sentences that address a judge. */
  orders: string[];
  /** All passages as one text. */
  text: string;
  words: number;
  /** Number of its numbers and booleans. */
  others: number;
  /** Stems of its words. */
  terms: Set<string>;
}

const MAX_PASSAGE = 400;

/** The stems of a text's words without stop words. */
export function stemsOf(text: string): Set<string> {
  return new Set(splitWords(text).flatMap((word) => searchTerm(word) ?? []));
}

/** How many terms of a text are in another one. */
export function sharedTerms(terms: ReadonlySet<string>, others: ReadonlySet<string>): number {
  return [...terms].filter((term) => others.has(term)).length;
}

/** The sentences of a text. */
function splitPassages(text: string): string[] {
  return text
    .split(/(?<=[.!?])\s+|\n+/)
    .map((passage) => clip(passage.trim(), MAX_PASSAGE))
    .filter((passage) => passage !== "");
}

/** The content of a payload's values, or of any other value. Keys are labels and don't count. */
export function toContent(value: unknown): Content {
  const { strings, others } = inside(value);
  const { passages = [], orders = [] } = Object.groupBy(strings.flatMap(splitPassages), (passage) =>
    addressesJudge(passage) ? "orders" : "passages",
  );
  const text = passages.join("\n");
  return { passages, orders, text, words: splitWords(text).length, others, terms: stemsOf(text) };
}

/** So few words beside an order are part of it: "The buyer agreed." */
const MOST_WORDS_BESIDE_ORDERS = 5;
const ABOUT_PROMPTS = /\b(prompts?|jailbreak\w*|injections?|red[ -]?team\w*|adversarial)\b/i;

/**
 * Whether a payload says hardly anything else than orders and pleas to a judge: it delivers nothing. `asked` if the buyer's
 * request is about prompts, so that such texts may be what was ordered.
 */
export function ordersOnly({ criteria, payload }: DisputeCase): "no" | "asked" | "unasked" {
  const { orders, words, others } = toContent(payload);
  if (orders.length === 0 || others > 0 || words > MOST_WORDS_BESIDE_ORDERS) return "no";
  return ABOUT_PROMPTS.test(inside(criteria?.requestPayload).strings.join("\n")) ? "asked" : "unasked";
}
