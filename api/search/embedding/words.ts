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

/** Marks the start of a word in the encoder's vocabulary. */
const WORD_START = "\u2581";
const SHORTEST_COUNTED_WORD = 3;

/**
 * Share of a text's words that the encoder knows as words. It splits all others into syllables. Rare words keep some of
 * their meaning that way; gibberish and languages other than English get a random one.
 */
export function knownWordShare(text: string, vocabulary: ReadonlySet<string>): number {
  const words = splitWords(text).filter((word) => word.length >= SHORTEST_COUNTED_WORD);
  if (words.length === 0) return 0;
  return words.filter((word) => isKnown(word, vocabulary)).length / words.length;
}

function isKnown(word: string, vocabulary: ReadonlySet<string>): boolean {
  const capitalised = word.charAt(0).toUpperCase() + word.slice(1);
  return [word, capitalised, word.replace(ENDINGS, "")].some((form) => vocabulary.has(WORD_START + form));
}
