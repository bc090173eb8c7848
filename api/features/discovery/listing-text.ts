import { categoryWords } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import { searchTerm, splitWords } from "../../search/embedding/words.ts";

/** Qualities of a listing's own text that the ranking uses for every query. */
export interface ListingText {
  /** How much the description says beyond title and category, LEAST_COMPLETENESS to 1. */
  completeness: number;
  /** LEAST_PROSE for a list of keywords, 1 for sentences. */
  prose: number;
  /** The different stems of title and description, without stop words. */
  terms: ReadonlySet<string>;
}

/** The texts that are read. */
export type TextFields = Pick<Listing, "title" | "description" | "category">;

/** Completeness of a description that adds nothing to its title. */
const LEAST_COMPLETENESS = 0.5;
/**
 * Different stems beyond title and category that make a description complete. One sentence that says what is delivered and
 * from what has about that many.
 */
const COMPLETE_TERMS = 8;

/** Prose factor of a bare list of keywords. */
const LEAST_PROSE = 0.5;
/** Listed words that cost nothing: most honest descriptions list what they support. */
const FREE_LISTED_WORDS = 12;
/** Share of further listed words at which a text is nothing but a list. */
const FULL_LISTED_SHARE = 1 / 3;
/**
 * Bounds, in words, of the phrases of sentences in any language. A phrase without English function words outside of them is
 * part of a list.
 */
const SHORTEST_PHRASE = 3;
const LONGEST_PHRASE = 20;

const PHRASE_END = /[,;:.!?()/|\n–—]+/;
/** Scripts that don't put spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
const segmenter = new Intl.Segmenter("en", { granularity: "word" });

const known = new WeakMap<TextFields, ListingText>();

/** Reads a listing's text, once for each object. */
export function listingTextOf(listing: TextFields): ListingText {
  const text = known.get(listing) ?? readText(listing);
  known.set(listing, text);
  return text;
}

/** Gives a listing its text as it was read before: reading 2,000 characters takes a tenth of a millisecond. */
export function rememberText(listing: TextFields, text: ListingText): void {
  known.set(listing, text);
}

function readText({ title, description, category }: TextFields): ListingText {
  const heading = new Set(stemsOf(`${title} ${categoryWords(category)}`));
  const described = new Set(stemsOf(description));
  const added = described.difference(heading).size;
  return {
    completeness: LEAST_COMPLETENESS + (1 - LEAST_COMPLETENESS) * Math.min(1, added / COMPLETE_TERMS),
    prose: measureProse(`${title}. ${description}`),
    terms: described.union(new Set(stemsOf(title))),
  };
}

function measureProse(text: string): number {
  // Without spaces, words and phrases can't be told apart.
  if (UNSPACED.test(text)) return 1;
  let words = 0;
  let listed = 0;
  for (const phrase of text.split(PHRASE_END)) {
    const ofPhrase = splitWords(phrase);
    words += ofPhrase.length;
    if (isListed(ofPhrase)) listed += ofPhrase.length;
  }
  const share = words === 0 ? 0 : Math.max(0, listed - FREE_LISTED_WORDS) / words;
  return 1 - (1 - LEAST_PROSE) * Math.min(1, share / FULL_LISTED_SHARE);
}

function isListed(phrase: readonly string[]): boolean {
  const isOrdinary = phrase.length >= SHORTEST_PHRASE && phrase.length <= LONGEST_PHRASE;
  return !isOrdinary && phrase.every((word) => searchTerm(word) !== null);
}

function stemsOf(text: string): string[] {
  return splitSpacedWords(text).flatMap((word) => searchTerm(word) ?? []);
}

/** The words of a text, also of one that doesn't put spaces between them. */
function splitSpacedWords(text: string): string[] {
  if (!UNSPACED.test(text)) return splitWords(text);
  return [...segmenter.segment(text)].flatMap(({ segment }) => splitWords(segment));
}
