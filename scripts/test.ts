// `npm test`: runs every check and every test; the last line sums up the counts of all runners.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { availableParallelism, constants, cpus } from "node:os";
import { dirname, join, relative } from "node:path";

import { readArguments, refuseArguments, wholeNumber } from "./command/arguments.ts";
import { findFreePorts } from "./local/ports.ts";
import { PORTS_PER_STACK } from "./local/stack-ports.ts";
import { startStack } from "./local/stack.ts";
import { startLint } from "./quality/lint.ts";
import { ADMIN_KEY } from "./testing/admin-key.ts";
import { conformance, conformancePage, staleness } from "./testing/conformance.ts";
import type { Group } from "./testing/groups.ts";
import { groupsOf } from "./testing/groups.ts";
import { inTurn, runJobs } from "./testing/jobs.ts";
import type { Job } from "./testing/jobs.ts";
import type { FileOutcome } from "./testing/mocha-file.ts";
import { currentCommit, nightlyPage } from "./testing/nightly-page.ts";
import { isLeftToNight, recordTestedCode } from "./testing/nightly.ts";
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
import { expectedSeconds, FILE_MINUTES, NIGHT_FILE_MINUTES, runTestFiles } from "./testing/test-file.ts";
import { clearStarts, reportStarts, twoProcessVariables } from "./testing/two-processes.ts";

const STAGES = ["lint", "contracts", "subgraph", "api", "sdk", "tools", "cli", "web", "e2e"] as const;
type Stage = (typeof STAGES)[number];

const HELP = `usage: npm test -- [--only ${STAGES.join("|")}] [--retry-failed] [--json FILE] [--file-minutes N]
                   [--two-processes] [--nightly] [files …]

Runs the checks (lint), the contract tests, and the tests of subgraph, API, client, tools, command line and whole deals. They
run side by side, three processes for two cores, each with files of one stage. They use stacks of their own (own ports, data under
.local/test), so \`npm start\` may run at the same time. The last line sums up all counts. A full run also compares the
results with test/spec-lines.tsv.
Long campaigns and the tests of unchanged tools are left to \`npm run test:nightly\` (scripts/testing/nightly.ts lists them).
  --only STAGE    run this stage alone; may be repeated
  --retry-failed  rerun each file with a failed test once, alone; tests that then pass are listed as flaky, and the counts
                  are those of the last runs
  --json FILE     also write the measures to this file as one JSON object: cores, seconds, CPU seconds of the whole
                  machine, and the seconds and counts of each stage; stages that run side by side overlap
  --file-minutes N
                  how long a test file may take, 1 to 600 (default ${FILE_MINUTES}, with --nightly ${NIGHT_FILE_MINUTES}); for tests
                  that a variable makes longer
  --two-processes
                  each API that a test starts gets a second process on its database, and requests alternate between both;
                  the end of the output lists the tests that need one process, with their reasons
  --nightly       run everything at full size; without --only, also write docs/inside/nightly.md and test/nightly-code.json
  files           run these test files only (with --only)
  --help          this text`;

const DATA_DIR = join(".local", "test");
/** Deals on one stack, whose clock they move and whose chain they roll back: they run one at a time. */
const isDeal = (file: string): boolean => file.startsWith("test/e2e/deals/");
/** Tests against chains, subgraphs and database that the runner starts. API tests start the API themselves. */
const sharesInfrastructure = (file: string): boolean => /^test\/(subgraph|api|sdk|tools|cli|web)\//.test(file);
/** Processes that run side by side for each core: nearly half of their time they wait for blocks, pauses and others. */
const LANES_PER_CORE = 1.5;

const { values, positionals: files } = readArguments(
  HELP,
  {
    only: { type: "string", multiple: true },
    "retry-failed": { type: "boolean" },
    json: { type: "string" },
    "file-minutes": { type: "string" },
    "two-processes": { type: "boolean" },
    nightly: { type: "boolean" },
  },
  { allowPositionals: true },
);
const isNightly = values.nightly === true;
const usualMinutes = isNightly ? NIGHT_FILE_MINUTES : FILE_MINUTES;
const limitMinutes = wholeNumber("--file-minutes", values["file-minutes"] ?? String(usualMinutes), 1, 600);
const unknown = values.only?.filter((name) => !STAGES.includes(name as Stage)) ?? [];
if (unknown.length > 0) {
  refuseArguments(`--only: unknown stage "${unknown.join('", "')}" (one of ${STAGES.join(", ")})`);
}
if (files.length > 0 && values.only?.length !== 1) {
  refuseArguments(`Files need the one stage that they belong to: --only ${STAGES.join("|")}`);
}
for (const file of files) if (!existsSync(file)) refuseArguments(`There is no file ${file}.`);
const hasTwoProcesses = values["two-processes"] === true;
const chosen = STAGES.filter((stage) => values.only === undefined || values.only.includes(stage));
const isFull = chosen.length === STAGES.length && files.length === 0;
const begunOn = new Date();
const started = performance.now();
const busyBefore = busySeconds();
const failures: string[] = [];
const flaky: FlakyTest[] = [];
/** How each mocha file ended the last time that it ran. */
const outcomes = new Map<string, FileOutcome>();
// Exiting kills the processes of test files; a signal alone would leave them running.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => process.exit(128 + constants.signals[signal]));
}

const begunAt: Partial<Record<Stage, number>> = {};
/** Seconds of each stage, from its first check or test to its last. */
const secondsOf: Partial<Record<Stage, number>> = {};

/** CPU seconds used on this machine since it booted, by all processes. */
function busySeconds(): number {
  return cpus().reduce((sum, { times }) => sum + (times.user + times.nice + times.sys + times.irq) / 1000, 0);
}

function banner(text: string): void {
  console.log(`\n── ${text} ──`);
}

/** Runs a part of a stage and extends the stage's time to its end. */
async function timed(stage: Stage, work: () => Promise<void>): Promise<void> {
  const begun = (begunAt[stage] ??= performance.now());
  await work();
  secondsOf[stage] = (performance.now() - begun) / 1000;
}

/** A stack that the tests share. */
interface TestStack {
  /** The file with its facts. */
  facts: string;
  /** Aborted when a service ends by itself, because every further test would run into its timeout. */
  lost: AbortSignal;
  stop: () => Promise<void>;
}

/** A stack that starts when a test first needs it. */
interface SharedStack {
  /** Starts it once. A failed start counts as a failure of the run and returns undefined. */
  open: () => Promise<TestStack | undefined>;
  close: () => Promise<void>;
}

/** @param only its services; all by default */
function sharedStack(name: string, only?: string[]): SharedStack {
  let opening: Promise<TestStack | undefined> | undefined;
  return {
    open: () => (opening ??= openStack(name, only)),
    async close() {
      const stack = await opening;
      opening = undefined;
      await stack?.stop();
    },
  };
}

async function openStack(name: string, only: string[] | undefined): Promise<TestStack | undefined> {
  const report = (error: unknown): void => {
    console.error(error);
    failures.push(`the stack: ${error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error)}`);
  };
  try {
    const portBase = await findFreePorts(PORTS_PER_STACK);
    // Without a keeper: the tests end their deals themselves.
    const env = { ...process.env, ADMIN_API_KEY: ADMIN_KEY, KEEPER_PRIVATE_KEY: "" };
    const stack = await startStack({ dir: join(DATA_DIR, name), portBase, only, fresh: true, disposable: true, env });
    const loss = new AbortController();
    stack.failure.catch((error: unknown) => {
      report(error);
      loss.abort();
    });
    return { facts: stack.factsPath, lost: loss.signal, stop: () => stack.stop() };
  } catch (error) {
    report(error);
    return undefined;
  }
}

/** Options of a run beside contract tests. */
interface Beside {
  /** Other tests: the output is shown in the end instead of as it comes. */
  capture: boolean;
  /** The bindings stand. Tests and checks that read them mustn't see them written again. */
  hasBindings: boolean;
}

async function runContracts(testFiles: string[], resultsPath: string, beside: Beside): Promise<Recorded> {
  const { capture, hasBindings } = beside;
  const env = {
    TEST_STAGE: "contracts",
    TEST_RESULTS: resultsPath,
    ...(hasBindings ? { HARDHAT_NO_TYPECHAIN: "true" } : {}),
  };
  const { code, output } = await run("node", ["scripts/testing/contracts.ts", ...testFiles], { env, capture });
  if (capture) console.log(`\ncontracts\n${output.trimEnd()}`);
  const recorded = readRecorded(resultsPath);
  const { results, unfinished } = recorded;
  // A crash or a compile error is a failure of its own.
  if (code !== 0 && results.every(({ status }) => status !== "failed")) {
    const place = unfinished === undefined ? "" : `, in ${unfinished.file}: ${unfinished.title}`;
    failures.push(`contracts: the runner ended with code ${code}${place}`);
  }
  return recorded;
}

async function rerunContracts(file: string): Promise<TestResult[]> {
  const path = join(RESULTS_DIR, "contracts.retry");
  rmSync(path, { force: true });
  return (await runContracts([file], path, { capture: false, hasBindings: false })).results;
}

/** Test files of a stage that one process of mocha runs. */
interface TestGroup {
  stage: Stage;
  group: Group;
}

async function testGroupsOf(stage: Stage): Promise<TestGroup[]> {
  const found = files.length > 0 ? files : await Array.fromAsync(glob(`test/${stage}/**/*.test.ts`));
  const left = isNightly || files.length > 0 ? [] : found.filter((file) => isLeftToNight(file));
  if (left.length > 0) console.log(`${stage}: ${left.length} files are left to npm run test:nightly`);
  const chosenFiles = found.map((file) => relative(".", file)).filter((file) => !left.includes(file));
  // The nightly page has the output of single files, and so has the list of those that need one API process.
  const areAlone = isNightly || hasTwoProcesses;
  const groups = areAlone ? chosenFiles.map((file): Group => [file]) : groupsOf(chosenFiles);
  return groups.map((group) => ({ stage, group }));
}

/** Runs the tests of the chosen stages side by side, reruns the failed files if asked to, and reports on each stage. */
async function runTests(stages: readonly Stage[], linting: Promise<void>): Promise<void> {
  banner(stages.join(", "));
  const mochaStages = stages.filter((stage) => stage !== "contracts");
  const found = (await Promise.all(mochaStages.map(testGroupsOf))).flat();
  const infrastructure = sharedStack("infrastructure", ["chains", "graph", "mongo"]);
  const full = sharedStack("full");
  const deals = found.filter(({ group }) => isDeal(group[0]));
  const others = found.filter((test) => !deals.includes(test));
  const stackOf = (file: string): SharedStack | undefined =>
    isDeal(file) ? full : sharesInfrastructure(file) ? infrastructure : undefined;
  // A start compiles what tests import, so the first one is over before they begin.
  const needed = new Set(found.map(({ group }) => stackOf(group[0])));
  const first = [infrastructure, full].find((stack) => needed.has(stack));
  await first?.open();
  bindingsWritten.resolve(undefined);

  const runFiles = async ({ stage, group }: TestGroup): Promise<TestResult[]> => {
    const stack = await stackOf(group[0])?.open();
    const signal = stack?.lost ?? new AbortController().signal;
    const env = {
      TEST_STACK: stack?.facts ?? "",
      TEST_NIGHTLY: isNightly ? "1" : "",
      ...(hasTwoProcesses ? twoProcessVariables(group[0]) : {}),
    };
    const ended = await runTestFiles({ stage, files: group, env, signal, limitMinutes });
    for (const outcome of ended) outcomes.set(outcome.file, outcome);
    return ended.flatMap(({ results }) => results);
  };
  const jobOf = (test: TestGroup): Job => ({
    expectedSeconds: test.group.reduce((sum, file) => sum + expectedSeconds(file), 0),
    run: () =>
      timed(test.stage, async () => {
        const shared = stackOf(test.group[0]);
        if (shared !== undefined && (await shared.open())?.lost.aborted !== false) return;
        for (const result of await runFiles(test)) appendResult(resultsFile(test.stage), result);
      }),
  });
  const contracts: Job = {
    expectedSeconds: Infinity,
    run: () =>
      timed("contracts", async () => {
        const hasBindings = first !== undefined || chosen.includes("lint");
        const beside = { capture: chosen.length > 1, hasBindings };
        await runContracts(files, resultsFile("contracts"), beside);
      }),
  };
  const inOrder = inTurn(deals.map(jobOf));
  const dealsJob: Job = {
    ...inOrder,
    async run() {
      await inOrder.run();
      await full.close();
    },
  };
  // The checks have begun; their job keeps a lane free for them.
  const checks: Job = { expectedSeconds: Infinity, run: () => linting };
  const jobs = [checks, ...(stages.includes("contracts") ? [contracts] : []), dealsJob, ...others.map(jobOf)];
  await runJobs(jobs, Math.ceil(LANES_PER_CORE * availableParallelism()));

  for (const stage of stages) {
    await closeStage(stage, stage === "contracts" ? rerunContracts : (file) => runFiles({ stage, group: [file] }));
  }
  await Promise.all([infrastructure.close(), full.close()]);
}

/** Reruns the failed files of a stage if asked to, and reports its counts. */
async function closeStage(stage: Stage, rerun: (file: string) => Promise<TestResult[]>): Promise<void> {
  if (values["retry-failed"] === true) flaky.push(...(await retryFailed(stage, rerun)));
  const { passed, failed, skipped } = count(readResults(stage));
  if (passed + failed + skipped === 0) failures.push(`${stage}: no test ran`);
  const seconds = (secondsOf[stage] ?? 0).toFixed(0);
  console.log(`\n${stage}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s`);
}

/** Compares the results of a full run with the facts that its titles cite. */
function checkConformance(): void {
  banner("conformance");
  const found = conformance(readAllResults());
  const page = "docs/inside/conformance.md";
  // The page names the tests of each push; the night runs more.
  const written = existsSync(page) ? readFileSync(page, "utf8") : "";
  const stale = isNightly ? undefined : staleness(written, conformancePage(found));
  const problems =
    stale === undefined ? found.problems : [...found.problems, `${page} ${stale}: run \`npm run conformance\`.`];
  for (const problem of problems) console.log(`  ✗ ${problem}`);
  failures.push(...problems);
  if (problems.length === 0) console.log(`  ✓ every fact is proven or pending, ${page} is fresh`);
}

/** Writes the measures of this run as one JSON object. A failed check counts as on the last line. */
function writeMeasures(file: string): void {
  const stages = Object.fromEntries(
    chosen.map((stage) => {
      const took = { seconds: secondsOf[stage] ?? 0 };
      return [stage, stage === "lint" ? took : { ...took, ...count(readResults(stage)) }];
    }),
  );
  const totals = { ...counts, failed: counts.failed + failures.length, flaky: flaky.length };
  const measures = { cores: availableParallelism(), seconds, cpuSeconds, stages, ...totals };
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === "number" ? Math.round(value * 10) / 10 : value;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(measures, rounded)}\n`);
}

/** Writes what the nightly run has found. */
function recordNight(): void {
  const stages = ran.map((stage) => ({ stage, seconds: secondsOf[stage] ?? 0, ...count(readResults(stage)) }));
  const cores = availableParallelism();
  const commit = currentCommit();
  const byName = [...outcomes.values()].sort((one, other) => one.file.localeCompare(other.file));
  const page = nightlyPage({ date: begunOn, commit, seconds, cores, stages, files: byName, failures });
  writeFileSync(join("docs", "inside", "nightly.md"), page);
  recordTestedCode((file) => outcomes.get(file)?.results.every(({ status }) => status !== "failed") ?? false);
}

for (const stage of chosen) clearResults(stage);
clearStarts();
const ran = chosen.filter((stage) => stage !== "lint");
/** Settles once the first stack has written the bindings, which checks read. */
const bindingsWritten = Promise.withResolvers<undefined>();
let linting = Promise.resolve();
if (chosen.includes("lint")) {
  banner("checks");
  const { built, failed } = ran.length > 0 ? startLint(1, bindingsWritten.promise) : startLint(2);
  linting = timed("lint", async () => void failures.push(...(await failed).map((name) => `check: ${name}`)));
  // Tests need the compile too.
  await built;
}
if (ran.length > 0) await runTests(ran, linting);
await linting;
if (isFull) checkConformance();

const counts = count(ran.flatMap((stage) => readResults(stage)));
for (const stage of ran) {
  for (const result of readResults(stage)) {
    if (result.status !== "passed") console.log(`${result.status}: ${result.file}: ${result.title}`);
  }
}
for (const { file, title } of flaky) console.log(`flaky: ${file}: ${title}`);
for (const failure of failures) console.log(`failed: ${failure}`);
if (hasTwoProcesses) for (const line of reportStarts()) console.log(line);
const seconds = (performance.now() - started) / 1000;
const cpuSeconds = busySeconds() - busyBefore;
if (values.json !== undefined) writeMeasures(values.json);
if (isFull && isNightly) recordNight();
console.log(
  `Took ${seconds.toFixed(0)} s on ${availableParallelism()} cores, which were busy for ${cpuSeconds.toFixed(0)} s.`,
);
// A failed check counts as a failed test; a passed check isn't counted.
console.log(`${counts.passed} passed, ${counts.failed + failures.length} failed, ${counts.skipped} skipped`);
process.exit(counts.failed + failures.length === 0 ? 0 : 1);
