import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import slowFiles from "./slow-files.json" with { type: "json" };
import { runMochaFiles } from "./mocha-file.ts";
import type { FileOutcome, FilesRun } from "./mocha-file.ts";
import { RESULTS_DIR } from "./results.ts";

/** Minutes for a whole file: those that restart a stack several times take minutes on a loaded machine. */
export const FILE_MINUTES = 15;
/** The same at night, when campaigns have their full size. */
export const NIGHT_FILE_MINUTES = 240;
const MINUTE_MS = 60_000;
const DURATIONS = join(RESULTS_DIR, "durations.json");
/** Guesses the duration of a file that never ran and isn't among the slow ones: large files tend to be slow. */
const BYTES_PER_SECOND = 2_000;
/** The same for tests that start stacks, commands or compilers. */
const BYTES_PER_SECOND_OF_E2E = 200;

/** Runs test files in turn in one process, prints what they printed and returns how each ended. */
export async function runTestFiles({
  limitMinutes,
  ...run
}: Omit<FilesRun, "limitMs"> & { limitMinutes: number }): Promise<FileOutcome[]> {
  const outcomes = await runMochaFiles({ ...run, limitMs: limitMinutes * MINUTE_MS });
  mkdirSync(RESULTS_DIR, { recursive: true });
  const durations = Object.fromEntries(outcomes.map(({ file, seconds }) => [file, seconds]));
  writeFileSync(DURATIONS, `${JSON.stringify({ ...readDurations(), ...durations }, undefined, 2)}\n`);
  for (const output of new Set(outcomes.map((outcome) => outcome.output))) {
    const files = outcomes.filter((outcome) => outcome.output === output);
    console.log(`\n${files.map(({ file, seconds }) => `${file} (${seconds.toFixed(1)} s)`).join("\n")}`);
    console.log(output.trimEnd());
  }
  return outcomes;
}

/** Seconds that a test file took in its last run here, or else usually takes. */
export function expectedSeconds(file: string): number {
  return readDurations()[file] ?? usualSeconds(file);
}

/** Seconds that a test file takes, as listed in slow-files.json or guessed by size. */
export function usualSeconds(file: string): number {
  const rate = /^test\/(subgraph|api|sdk)\//.test(file) ? BYTES_PER_SECOND : BYTES_PER_SECOND_OF_E2E;
  return listed.get(file) ?? statSync(file).size / rate;
}

/** Files that took 20 s or more on two idle cores, so that a fresh clone starts them first. */
const listed: ReadonlyMap<string, number> = new Map(Object.entries(slowFiles));

function readDurations(): Record<string, number> {
  if (!existsSync(DURATIONS)) return {};
  return JSON.parse(readFileSync(DURATIONS, "utf8")) as Record<string, number>;
}
