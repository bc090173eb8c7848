import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import slowFiles from "./slow-files.json" with { type: "json" };
import { runMochaFile } from "./mocha-file.ts";
import type { FileOutcome, FileRun } from "./mocha-file.ts";
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
const BYTES_PER_SECOND_OUTSIDE_API = 200;

/**
 * Runs one test file, prints what it printed and returns how it ended. A process for each file costs about a second; in
 * return no file can disturb the next one, and a hanging file can be killed.
 */
export async function runTestFile({
  limitMinutes,
  ...run
}: Omit<FileRun, "limitMs"> & { limitMinutes: number }): Promise<FileOutcome> {
  const outcome = await runMochaFile({ ...run, limitMs: limitMinutes * MINUTE_MS });
  const { file, output, seconds } = outcome;
  mkdirSync(RESULTS_DIR, { recursive: true });
  writeFileSync(DURATIONS, `${JSON.stringify({ ...readDurations(), [file]: seconds }, undefined, 2)}\n`);
  console.log(`\n${file} (${seconds.toFixed(1)} s)\n${output.trimEnd()}`);
  return outcome;
}

/** Seconds that a test file took in its last run here; without one, as listed in slow-files.json or guessed by size. */
export function expectedSeconds(file: string): number {
  const rate = file.startsWith("test/api/") ? BYTES_PER_SECOND : BYTES_PER_SECOND_OUTSIDE_API;
  return readDurations()[file] ?? listed.get(file) ?? statSync(file).size / rate;
}

/** Files that took 20 s or more on two idle cores, so that a fresh clone starts them first. */
const listed: ReadonlyMap<string, number> = new Map(Object.entries(slowFiles));

function readDurations(): Record<string, number> {
  if (!existsSync(DURATIONS)) return {};
  return JSON.parse(readFileSync(DURATIONS, "utf8")) as Record<string, number>;
}
