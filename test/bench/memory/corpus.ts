import { readFileSync } from "node:fs";
import { join } from "node:path";

import { z } from "zod";

import { generateNoise } from "./noise.ts";

/** Of questions and of the entries that were written by hand. */
export const LANGUAGES = ["english", "german", "french"] as const;
/**
 * What is difficult about a question. `dated` asks for one of eight entries about the same thing at different dates; `cross-language`
 * is in another language than the entry.
 */
export const QUESTION_KINDS = ["paraphrase", "dated", "cross-language"] as const;
/** Weights are tuned with one half only; figures are those of the other. Each is a file of questions. */
export const HALVES = ["tuning", "held-out"] as const;

/** Keys of the generated entries that come near the answers of the held-out questions; written by the bench. */
export const NEAR_FILE = "near.json";

const entry = z.strictObject({ key: z.string(), value: z.json() });

const question = z.strictObject({
  question: z.string(),
  language: z.enum(LANGUAGES),
  kind: z.enum(QUESTION_KINDS),
  /** Keys of the entries that answer it. */
  expected: z.array(z.string()).min(1).max(3),
});

/** An entry of the agent's memory. */
export interface BenchEntry {
  key: string;
  value: unknown;
  /** `generated` for those that answer no question and are there to be in the way. */
  language: (typeof LANGUAGES)[number] | "generated";
}
export type BenchQuestion = z.output<typeof question> & { half: (typeof HALVES)[number] };

const read = (path: string): unknown => JSON.parse(readFileSync(join(import.meta.dirname, path), "utf8"));

/** The whole memory: the entries written by hand, and those generated around them. */
export function loadEntries(): BenchEntry[] {
  const written = LANGUAGES.flatMap((language) =>
    z
      .array(entry)
      .parse(read(`entries/${language}.json`))
      .map((one) => ({ ...one, language })),
  );
  return [...written, ...generateNoise(read("noise.json")).map((one) => ({ ...one, language: "generated" as const }))];
}

/** Keys of the generated entries that compete with the answers to the held-out questions, or answer nonsense. */
export function loadNear(): ReadonlySet<string> {
  return new Set(z.array(z.string()).parse(read(NEAR_FILE)));
}

/** The questions of both halves. */
export function loadQuestions(): BenchQuestion[] {
  return HALVES.flatMap((half) =>
    z
      .array(question)
      .parse(read(`questions/${half}.json`))
      .map((one) => ({ ...one, half })),
  );
}
