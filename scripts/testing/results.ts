import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/** One test as a runner reported it. */
export interface TestResult {
  /** Stage of `npm test` that ran it: contracts, subgraph, api or e2e. */
  stage: string;
  /** Path of its file, relative to the project. */
  file: string;
  /** Titles of its suites and its own, joined by " › ". */
  title: string;
  status: "passed" | "failed" | "skipped";
}

/** How many tests ended in which way. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Where the runners leave what they saw, one JSON line a test, one file a stage. */
export const RESULTS_DIR = join(".local", "test-results");

/** The file of a stage's results. */
export function resultsFile(stage: string): string {
  return join(RESULTS_DIR, `${stage}.jsonl`);
}

/** Forgets a stage's earlier results, so that a runner that dies leaves none behind. */
export function clearResults(stage: string): void {
  rmSync(resultsFile(stage), { force: true });
  mkdirSync(dirname(resultsFile(stage)), { recursive: true });
}

/** Appends one result to the file. */
export function appendResult(file: string, result: TestResult): void {
  appendFileSync(file, `${JSON.stringify(result)}\n`);
}

/** Results of a stage's last run; none when it never ran. */
export function readResults(stage: string): TestResult[] {
  const file = resultsFile(stage);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as TestResult);
}

/** Results of every stage that has run. */
export function readAllResults(): TestResult[] {
  if (!existsSync(RESULTS_DIR)) return [];
  const stages = readdirSync(RESULTS_DIR).filter((name) => name.endsWith(".jsonl"));
  return stages.sort().flatMap((name) => readResults(name.slice(0, -".jsonl".length)));
}

/** Counts results by status. */
export function count(results: TestResult[]): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const result of results) counts[result.status] += 1;
  return counts;
}
