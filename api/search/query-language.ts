import { searchTerm, splitWords } from "./embedding/words.ts";

/** Share of function words that only English sentences have. "i" and "a" are words in many languages and don't count. */
const ENGLISH_SHARE = 0.2;
const SHORTEST_FUNCTION_WORD = 2;
/** Word count from which an English text has function words. */
const SENTENCE_WORDS = 6;
/** Share of known words at which a sentence with any function word is English, and one without. */
const LEAST_KNOWN_SHARE = 0.3;
const LEAST_KNOWN_SHARE_WITHOUT = 0.5;

/**
 * Whether a text is English. The English model puts a text in another language near random listings, mostly of translators.
 * @param knownWordShare share of its words that are common in English, 0 to 1
 */
export function isEnglish(text: string, knownWordShare: number): boolean {
  const words = splitWords(text);
  const functionWords = words.filter((word) => word.length >= SHORTEST_FUNCTION_WORD && searchTerm(word) === null);
  if (functionWords.length > words.length * ENGLISH_SHARE) return true;
  // A few unknown words can be terms of a trade. Spelled in Latin letters, they keep some meaning.
  if (words.length < SENTENCE_WORDS) return knownWordShare >= LEAST_KNOWN_SHARE || words.every(isPlainLatin);
  return knownWordShare > (functionWords.length > 0 ? LEAST_KNOWN_SHARE : LEAST_KNOWN_SHARE_WITHOUT);
}

function isPlainLatin(word: string): boolean {
  return /^[a-z0-9]+$/.test(word);
}
