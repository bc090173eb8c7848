import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { runMochaFile } from "./mocha-file.ts";
import { RESULTS_DIR } from "./results.ts";
import type { TestResult } from "./results.ts";

/** What the files of a stage run with. */
export interface StageRun {
  stage: string;
  files: readonly string[];
  /** How many files run side by side, each in a process of its own. */
  lanes: number;
  env: Readonly<Record<string, string>>;
  /** Ends the running files, and begins no further one, when aborted. */
  signal: AbortSignal;
}

/** For a whole file: those that start a stack again and again take minutes on a machine with too much work. */
const FILE_LIMIT_MS = 480_000;
const DURATIONS = join(RESULTS_DIR, "durations.json");
/** Seconds that a file takes that never ran, by its size: a rough guess, but large files are the slow ones more often than not. */
const BYTES_PER_SECOND = 2_000;

/**
 * Runs test files of a stage, the longest of the last run first, and returns their results. A process for each file costs
 * about a second of start, and buys that no file can disturb the next one and that a hanging one can be ended.
 */
export async function runMochaFiles({ stage, files, lanes, env, signal }: StageRun): Promise<TestResult[]> {
  const durations = readDurations();
  const expected = (file: string): number => durations[file] ?? statSync(file).size / BYTES_PER_SECOND;
  const queue = [...files].sort((a, b) => expected(b) - expected(a));
  const results: TestResult[] = [];
  const lane = async (): Promise<void> => {
    for (let file = queue.shift(); file !== undefined && !signal.aborted; file = queue.shift()) {
      const outcome = await runMochaFile({ stage, file, env, limitMs: FILE_LIMIT_MS, signal });
      durations[file] = outcome.seconds;
      results.push(...outcome.results);
      console.log(`\n${file} (${outcome.seconds.toFixed(1)} s)\n${outcome.output.trimEnd()}`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  writeDurations(durations);
  return results;
}

function readDurations(): Record<string, number> {
  if (!existsSync(DURATIONS)) return {};
  return JSON.parse(readFileSync(DURATIONS, "utf8")) as Record<string, number>;
}

function writeDurations(durations: Record<string, number>): void {
  mkdirSync(RESULTS_DIR, { recursive: true });
  writeFileSync(DURATIONS, `${JSON.stringify(durations, undefined, 2)}\n`);
}
