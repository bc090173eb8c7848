import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** One test as a runner reported it. */
export interface TestResult {
  /** Stage of `npm test` that ran it, such as `api`. */
  stage: string;
  /** Path of its file, relative to the project. */
  file: string;
  /** Titles of its suites and its own, joined by " › ". */
  title: string;
  status: "passed" | "failed" | "skipped";
}

/** A line that a runner writes: a result, or the start of a test or hook with its time. */
type Line = TestResult | (Omit<TestResult, "status"> & { status: "started"; at: number });

/** Number of tests by outcome. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Where the runners write results: a file for each stage, a JSON line for each test. */
export const RESULTS_DIR = join(".local", "test-results");

/** The file of a stage's results. */
export function resultsFile(stage: string): string {
  return join(RESULTS_DIR, `${stage}.jsonl`);
}

/** Removes a stage's earlier results, so that they can't pass for those of a runner that dies. */
export function clearResults(stage: string): void {
  rmSync(resultsFile(stage), { force: true });
  mkdirSync(dirname(resultsFile(stage)), { recursive: true });
}

/** Appends one result to the file. */
export function appendResult(file: string, result: TestResult): void {
  appendFileSync(file, `${JSON.stringify(result)}\n`);
}

/** Replaces a stage's results for one test file. */
export function replaceResults(stage: string, testFile: string, results: readonly TestResult[]): void {
  const kept = readResults(stage).filter(({ file }) => file !== testFile);
  writeFileSync(resultsFile(stage), [...kept, ...results].map((result) => `${JSON.stringify(result)}\n`).join(""));
}

/** A runner's record. */
export interface Recorded {
  results: TestResult[];
  /** The test or hook that was running when the process died. */
  unfinished: { file: string; title: string } | undefined;
  /** When the first test or hook of each file began (unix milliseconds). */
  begun: ReadonlyMap<string, number>;
}

/** Reads what a runner has written, if anything. Drops a last line that a kill truncated. */
export function readRecorded(path: string): Recorded {
  if (!existsSync(path)) return { results: [], unfinished: undefined, begun: new Map() };
  const complete = readFileSync(path, "utf8").split("\n").slice(0, -1);
  const lines = complete.map((line) => JSON.parse(line) as Line);
  const last = lines.at(-1);
  const begun = new Map<string, number>();
  for (const line of lines) if (line.status === "started" && !begun.has(line.file)) begun.set(line.file, line.at);
  return {
    results: lines.filter((line): line is TestResult => line.status !== "started"),
    unfinished: last?.status === "started" ? last : undefined,
    begun,
  };
}

/** Results of a stage's last run, if any. */
export function readResults(stage: string): TestResult[] {
  return readRecorded(resultsFile(stage)).results;
}

/** Results of every stage that has run. */
export function readAllResults(): TestResult[] {
  if (!existsSync(RESULTS_DIR)) return [];
  const stages = readdirSync(RESULTS_DIR).filter((name) => name.endsWith(".jsonl"));
  return stages.sort().flatMap((name) => readResults(name.slice(0, -".jsonl".length)));
}

/** Counts results by status. */
export function count(results: readonly TestResult[]): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const result of results) counts[result.status] += 1;
  return counts;
}
