/** The words of a text in lower case. */
export function splitWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Words that say nothing about what a query is looking for. */
const STOP_WORDS = new Set(
  (
    "a about all an and any are as at be by can could did do does find for from get give had has have help how i if in " +
    "into is it its like make me my need of on or our out should so some somebody someone something that the their them " +
    "there these this to us want was we were what when where which who will with would you your"
  ).split(" "),
);

const ENDINGS = /(ations?|ings?|ers?|ors?|ies|ied|es|ed|ly|ments?|s|y|e)$/;
const MIN_STEM_LENGTH = 3;

/**
 * The stem of a word, so that "bookings" finds "booked"; null for a stop word. The engine has its own stemmer; this one is
 * for comparisons outside of it. It isn't the package `stemmer`, because parts of the ranking were tuned with these endings.
 */
export function searchTerm(word: string): string | null {
  const lower = word.toLowerCase();
  if (STOP_WORDS.has(lower)) return null;
  const stem = lower.replace(ENDINGS, "");
  return stem.length >= MIN_STEM_LENGTH ? stem : lower;
}

const SHORTEST_COUNTED_WORD = 3;

/**
 * Share of a text's words that are English. Those that aren't can be gibberish, names, errors of typing and words of other languages.
 * @param listed about 5,000 common English words, in lower case
 */
export function knownWordShare(text: string, listed: ReadonlySet<string>): number {
  const words = splitWords(text).filter((word) => word.length >= SHORTEST_COUNTED_WORD);
  if (words.length === 0) return 0;
  return words.filter((word) => listed.has(word) || listed.has(word.replace(ENDINGS, ""))).length / words.length;
}
