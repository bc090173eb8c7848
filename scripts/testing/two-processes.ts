import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

import { RESULTS_DIR } from "./results.ts";

/** A start of the API by a test. */
interface ApiStart {
  file: string;
  /** Why it has no second process; missing if it has one. */
  reason?: string;
}

const STARTS = join(RESULTS_DIR, "two-processes.starts");

/** Environment of a test file whose APIs get a second process. */
export const twoProcessVariables = (file: string) => ({ TEST_TWO_PROCESSES: STARTS, TEST_FILE: file });

/** Where this test file notes its starts of the API; undefined without `--two-processes`. */
export function startsFile(): string | undefined {
  return process.env["TEST_TWO_PROCESSES"];
}

/** Notes a start of the API. */
export function recordStart(reason: string | undefined): void {
  const start: ApiStart = { file: process.env["TEST_FILE"] ?? "", ...(reason === undefined ? {} : { reason }) };
  appendFileSync(startsFile() ?? STARTS, `${JSON.stringify(start)}\n`);
}

/** Removes the starts of an earlier run. */
export function clearStarts(): void {
  mkdirSync(RESULTS_DIR, { recursive: true });
  rmSync(STARTS, { force: true });
}

/** Lines about a run: how many APIs had two processes, and why the others had one. */
export function reportStarts(): string[] {
  const starts = existsSync(STARTS)
    ? readFileSync(STARTS, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as ApiStart)
    : [];
  const single = starts.filter(({ reason }) => reason !== undefined);
  const reasons = new Set(single.map(({ file, reason }) => `one process: ${file}: ${reason ?? ""}`));
  const both = starts.length - single.length;
  return [...[...reasons].sort(), `${both} APIs ran as two processes, ${single.length} as one`];
}
