import { recall, reciprocalRank } from "../discovery/measures.ts";
import { LANGUAGES, QUESTION_KINDS } from "./corpus.ts";
import type { BenchQuestion } from "./corpus.ts";
import type { Ranker } from "./rankers.ts";

const DEPTH = 5;
/** All entries that answer a question are worth the same. */
const GRADE = 3;

/** How well a ranker answers some questions: means over the questions, 0 to 1. */
export interface Measures {
  questions: number;
  /** Share of the questions whose first entry answers them. */
  first: number;
  /** Share of the expected entries that are among the first five. */
  recall5: number;
  mrr: number;
}

/** The same for all questions, and by language and kind. A part without questions is left out. */
export interface Report extends Measures {
  byPart: Partial<Record<BenchQuestion["language"] | BenchQuestion["kind"], Measures>>;
}

/** Asks a ranker every question and measures its answers. */
export async function reportOf(ranker: Ranker, questions: readonly BenchQuestion[]): Promise<Report> {
  const answers: { question: BenchQuestion; ranking: string[] }[] = [];
  for (const question of questions) answers.push({ question, ranking: await ranker(question.question) });
  const byPart: Report["byPart"] = {};
  for (const part of [...LANGUAGES, ...QUESTION_KINDS]) {
    const some = answers.filter(({ question: { language, kind } }) => language === part || kind === part);
    if (some.length > 0) byPart[part] = measure(some);
  }
  return { ...measure(answers), byPart };
}

function measure(answers: readonly { question: BenchQuestion; ranking: string[] }[]): Measures {
  const measured = answers.map(({ question: { expected }, ranking }) => {
    const grades = Object.fromEntries(expected.map((key) => [key, GRADE]));
    return { recall5: recall(ranking, grades, DEPTH), reciprocalRank: reciprocalRank(ranking, grades) };
  });
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    questions: answers.length,
    first: mean(measured.map((one) => (one.reciprocalRank === 1 ? 1 : 0))),
    recall5: mean(measured.map((one) => one.recall5)),
    mrr: mean(measured.map((one) => one.reciprocalRank)),
  };
}
