// `npm test`: every check and every test, with the sum of all runners' counts on the last line.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, constants } from "node:os";
import { dirname, join } from "node:path";
import { glob } from "node:fs/promises";

import { readArguments, refuseArguments } from "./command/arguments.ts";
import { findFreePorts } from "./local/ports.ts";
import { PORTS_PER_STACK } from "./local/stack-ports.ts";
import { startStack } from "./local/stack.ts";
import { lint } from "./quality/lint.ts";
import { conformance, conformancePage } from "./testing/conformance.ts";
import { runMochaFiles } from "./testing/mocha-stage.ts";
import {
  RESULTS_DIR,
  appendResult,
  clearResults,
  count,
  readAllResults,
  readRecorded,
  readResults,
  resultsFile,
} from "./testing/results.ts";
import type { Recorded, TestResult } from "./testing/results.ts";
import { retryFailed } from "./testing/retry.ts";
import type { FlakyTest } from "./testing/retry.ts";
import { run } from "./testing/run.ts";

const STAGES = ["lint", "contracts", "subgraph", "api", "sdk", "e2e"] as const;
type Stage = (typeof STAGES)[number];

const HELP = `usage: npm test -- [--only ${STAGES.join("|")}] [--retry-failed] [--json FILE] [files …]

Runs the checks (lint), the contract tests, those of the client, and those of subgraph, API and whole deals against a stack
of their own (own ports, own data under .local/test), beside a running \`npm start\` if there is one. The last line is the sum of all
counts. A full run also holds the results against test/spec-lines.tsv.
  --only STAGE   one stage alone; may be given several times
  --retry-failed run each file with a failed test once more, with nothing beside it; what then passes is listed as flaky,
                 and the counts are those of the last runs
  --json FILE    also write the measures there as one JSON object: cores, seconds, and those and the counts of each stage
  files          run these test files only (with --only)
  --help         this text`;

const DATA_DIR = join(".local", "test");
/** Services of the stack that the tests of a stage need; the API is left out where a test builds its own. */
const SERVICES: Record<"infrastructure" | "everything", string[] | undefined> = {
  infrastructure: ["chains", "graph", "mongo"],
  everything: undefined,
};

const { values, positionals: files } = readArguments(
  HELP,
  { only: { type: "string", multiple: true }, "retry-failed": { type: "boolean" }, json: { type: "string" } },
  { allowPositionals: true },
);
const unknown = values.only?.filter((name) => !STAGES.includes(name as Stage)) ?? [];
if (unknown.length > 0) {
  refuseArguments(`--only: unknown stage "${unknown.join('", "')}" (one of ${STAGES.join(", ")})`);
}
if (files.length > 0 && values.only?.length !== 1) {
  refuseArguments(`Single files need the one stage that they belong to: --only ${STAGES.join("|")}`);
}
for (const file of files) if (!existsSync(file)) refuseArguments(`There is no file ${file}.`);
const chosen = STAGES.filter((stage) => values.only === undefined || values.only.includes(stage));
const started = performance.now();
const failures: string[] = [];
const flaky: FlakyTest[] = [];
// The processes of test files are ended as this one exits, which a signal alone wouldn't make it do.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]));
}

/** Seconds of a stage's checks or tests, without the start of the stack that they run against. */
const secondsOf: Partial<Record<Stage, number>> = {};

function banner(text: string): void {
  console.log(`\n── ${text} ──`);
}

/** Says how the tests of a stage ended, once those that failed have had their second run. */
async function closeStage(stage: Stage, begun: number, rerun: (file: string) => Promise<TestResult[]>): Promise<void> {
  if (values["retry-failed"] === true) flaky.push(...(await retryFailed(stage, rerun)));
  const seconds = (performance.now() - begun) / 1000;
  secondsOf[stage] = seconds;
  const counts = count(readResults(stage));
  if (counts.passed + counts.failed + counts.skipped === 0) failures.push(`${stage}: no test ran`);
  const { passed, failed, skipped } = counts;
  console.log(`\n${stage}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds.toFixed(0)} s`);
}

/** Runs the contract tests; a failure that no test accounts for (a crash, a compile error) is one of its own. */
async function runContracts(): Promise<void> {
  const begun = performance.now();
  const contracts = async (testFiles: string[], resultsPath: string): Promise<Recorded & { code: number }> => {
    const env = { TEST_STAGE: "contracts", TEST_RESULTS: resultsPath };
    const { code } = await run("node", ["scripts/testing/contracts.ts", ...testFiles], { env });
    return { code, ...readRecorded(resultsPath) };
  };
  const { code, results, unfinished } = await contracts(files, resultsFile("contracts"));
  if (code !== 0 && results.every(({ status }) => status !== "failed")) {
    const place = unfinished === undefined ? "" : `, in ${unfinished.file}: ${unfinished.title}`;
    failures.push(`contracts: the runner ended with code ${code}${place}`);
  }
  await closeStage("contracts", begun, async (file) => {
    const path = join(RESULTS_DIR, "contracts.retry");
    rmSync(path, { force: true });
    return (await contracts([file], path)).results;
  });
}

async function runMocha(stage: Stage, lanes: number, { file: stackFile, lost }: RunningStack): Promise<void> {
  lost.throwIfAborted();
  const begun = performance.now();
  const found = files.length > 0 ? files : (await Array.fromAsync(glob(`test/${stage}/**/*.test.ts`))).sort();
  const runFiles = async (testFiles: readonly string[]): Promise<TestResult[]> =>
    runMochaFiles({ stage, files: testFiles, lanes, env: { TEST_STACK: stackFile }, signal: lost });
  for (const result of await runFiles(found)) appendResult(resultsFile(stage), result);
  await closeStage(stage, begun, (file) => runFiles([file]));
}

/** The stack that a stage runs against. */
interface RunningStack {
  /** The file with its facts. */
  file: string;
  /** Aborted when one of its services has ended by itself. */
  lost: AbortSignal;
}

/** Without one of its services every test would run into its timeout: the stage ends, and the service is named. */
async function withStack(only: string[] | undefined, body: (stack: RunningStack) => Promise<void>): Promise<void> {
  const dir = join(DATA_DIR, only === undefined ? "full" : "infrastructure");
  try {
    const stack = await startStack({ dir, portBase: await findFreePorts(PORTS_PER_STACK), only, fresh: true });
    const loss = new AbortController();
    const work = body({ file: stack.factsPath, lost: loss.signal });
    try {
      await Promise.race([work, stack.failure]);
    } catch (error) {
      loss.abort();
      await work.catch(() => undefined);
      throw error;
    } finally {
      await stack.stop();
    }
  } catch (error) {
    console.error(error);
    failures.push(`the stack: ${error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)}`);
  }
}

/** A full run must prove what it says that it proves. */
function checkConformance(): void {
  banner("conformance");
  const found = conformance(readAllResults());
  const page = "docs/conformance.md";
  const stale = !existsSync(page) || readFileSync(page, "utf8") !== conformancePage(found);
  const problems = stale ? [...found.problems, `${page} is stale: run \`npm run conformance\`.`] : found.problems;
  for (const problem of problems) console.log(`  ✗ ${problem}`);
  failures.push(...problems);
  if (problems.length === 0) console.log(`  ✓ every fact is proven or pending, ${page} is fresh`);
}

/** The measures of this run as one JSON object; a failed check counts as on the last line. */
function writeMeasures(file: string): void {
  const stages = Object.fromEntries(
    chosen.map((stage) => {
      const took = { seconds: secondsOf[stage] ?? 0 };
      return [stage, stage === "lint" ? took : { ...took, ...count(readResults(stage)) }];
    }),
  );
  const totals = { ...counts, failed: counts.failed + failures.length, flaky: flaky.length };
  const measures = { cores: availableParallelism(), seconds, stages, ...totals };
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === "number" ? Math.round(value * 10) / 10 : value;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(measures, rounded)}\n`);
}

for (const stage of chosen) clearResults(stage);
if (chosen.includes("lint")) {
  banner("checks");
  const begun = performance.now();
  failures.push(...(await lint()).map((name) => `check: ${name}`));
  secondsOf.lint = (performance.now() - begun) / 1000;
}
if (chosen.includes("contracts")) {
  banner("contracts");
  await runContracts();
}
if (chosen.includes("subgraph") || chosen.includes("api")) {
  banner("subgraph and API, on a stack of their own");
  await withStack(SERVICES.infrastructure, async (stack) => {
    if (chosen.includes("subgraph")) await runMocha("subgraph", 1, stack);
    if (chosen.includes("api")) await runMocha("api", availableParallelism(), stack);
  });
}
if (chosen.includes("sdk")) {
  banner("client, without a stack");
  await runMocha("sdk", 1, { file: "", lost: new AbortController().signal });
}
if (chosen.includes("e2e")) {
  banner("whole deals");
  await withStack(SERVICES.everything, async (stack) => {
    await runMocha("e2e", 1, stack);
  });
}
if (chosen.length === STAGES.length && files.length === 0) checkConformance();

const ran = chosen.filter((stage) => stage !== "lint");
const counts = count(ran.flatMap((stage) => readResults(stage)));
for (const stage of ran) {
  for (const result of readResults(stage)) {
    if (result.status !== "passed") console.log(`${result.status}: ${result.file}: ${result.title}`);
  }
}
for (const { file, title } of flaky) console.log(`flaky: ${file}: ${title}`);
for (const failure of failures) console.log(`failed: ${failure}`);
const seconds = (performance.now() - started) / 1000;
if (values.json !== undefined) writeMeasures(values.json);
console.log(`Took ${seconds.toFixed(0)} s on ${availableParallelism()} cores.`);
// A failed check counts among the failed; a passed one is no test and is not counted.
console.log(`${counts.passed} passed, ${counts.failed + failures.length} failed, ${counts.skipped} skipped`);
process.exit(counts.failed + failures.length === 0 ? 0 : 1);
