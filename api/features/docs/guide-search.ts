/** A part of a guide below one heading. */
export interface GuideSection {
  /** The last segment of the guide's path. */
  name: string;
  title: string;
  /** The heading and its id. That of the first section is the guide's title. */
  heading: string;
  id: string;
  text: string;
}

/** A section that a search found. */
export interface FoundSection extends Omit<GuideSection, "text"> {
  /** Its text around the first of the words. */
  excerpt: string;
}

/** Longest question, in characters. What is longer is cut off. */
const QUESTION_LENGTH = 100;
const [MAX_WORDS, MAX_FOUND] = [8, 30];
const EXCERPT_LENGTH = 200;
const BEFORE_HIT = 60;
/** How much more a word counts in a heading and in the title of the guide than in the text, where it counts a few times. */
const [HEADING, TITLE, MOST_IN_TEXT] = [8, 4, 3];

/** The words of a question, as they are looked for. */
export function wordsOf(question: string): string[] {
  const words = question
    .slice(0, QUESTION_LENGTH)
    .toLowerCase()
    .split(/[^\p{L}\p{N}_]+/u);
  return [...new Set(words.filter((word) => word !== ""))].slice(0, MAX_WORDS);
}

/** Finds sections that have all words of a question, also as parts of words. Those with the words in their headings come first. */
export class GuideSearch {
  readonly #sections: readonly (GuideSection & { inTitle: string; inHeading: string; inText: string })[];

  constructor(sections: readonly GuideSection[]) {
    this.#sections = sections.map((section) => ({
      ...section,
      inTitle: section.title.toLowerCase(),
      inHeading: section.heading.toLowerCase(),
      inText: section.text.toLowerCase(),
    }));
  }

  /** At most thirty sections, the best first. */
  find(question: string): FoundSection[] {
    const words = wordsOf(question);
    if (words.length === 0) return [];
    const rated = this.#sections.flatMap((section) => {
      const scores = words.map((word) => scoreOf(section, word));
      return scores.includes(0) ? [] : [{ section, score: scores.reduce((sum, score) => sum + score, 0) }];
    });
    rated.sort((left, right) => right.score - left.score);
    return rated.slice(0, MAX_FOUND).map(({ section: { name, title, heading, id, text, inText } }) => {
      const hits = words.map((word) => inText.indexOf(word)).filter((at) => at >= 0);
      return { name, title, heading, id, excerpt: excerptOf(text, hits.length === 0 ? 0 : Math.min(...hits)) };
    });
  }
}

function scoreOf(
  { inTitle, inHeading, inText }: { inTitle: string; inHeading: string; inText: string },
  word: string,
): number {
  const times = Math.min(inText.split(word, MOST_IN_TEXT + 1).length - 1, MOST_IN_TEXT);
  return (inHeading.includes(word) ? HEADING : 0) + (inTitle.includes(word) ? TITLE : 0) + times;
}

/** The text around a place in it, from word to word. */
function excerptOf(text: string, at: number): string {
  const start = at <= BEFORE_HIT ? 0 : text.indexOf(" ", at - BEFORE_HIT) + 1;
  const end = text.length - start <= EXCERPT_LENGTH ? text.length : text.lastIndexOf(" ", start + EXCERPT_LENGTH);
  const cut = text.slice(start, end > start ? end : start + EXCERPT_LENGTH);
  return `${start === 0 ? "" : "… "}${cut}${start + cut.length < text.length ? " …" : ""}`;
}
