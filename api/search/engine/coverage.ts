/** Marks of accents, once a letter is split into itself and its marks. */
const MARKS = /\p{M}/gu;

/** The words of a text as the engine sees them before stemming, in lower case and without accents, each after a space. */
export function foldedWords(text: string): string {
  const words =
    text
      .normalize("NFD")
      .replace(MARKS, "")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return ` ${words.join(" ")} `;
}

/** The forms in which a stem begins a word: the engine's stemmer turns a final y into i, and "scraping" into "scrape". */
function toBeginnings(stem: string): string[] {
  const start = ` ${stem.slice(0, -1)}`;
  if (stem.endsWith("i")) return [` ${stem}`, `${start}y`];
  return stem.endsWith("e") ? [` ${stem}`, `${start}ing`] : [` ${stem}`];
}

/**
 * Measures which share of a query's words is in texts, 0 to 1. A word is there if one of the text begins with its stem, because
 * the engine stems queries, but doesn't say which words of a document have matched.
 * @param stems the query's, from the engine, without stop words
 * @returns takes a text's words, see `foldedWords`
 */
export function createCoverage(stems: readonly string[]): (words: string) => number {
  const wanted = [...new Set(stems)].map(toBeginnings);
  if (wanted.length === 0) return () => 0;
  return (words) => wanted.filter((forms) => forms.some((form) => words.includes(form))).length / wanted.length;
}
