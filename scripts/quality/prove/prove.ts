// `npm run prove`: symbolic proofs about the contracts with halmos.
import { spawn } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { env } from "node:process";
import { createInterface } from "node:readline";

import { readArguments, wholeNumber } from "../../command/arguments.ts";
import { installPythonTools } from "../../testing/python-tools.ts";
import { builtContracts, compileProofs } from "./sources.ts";
import { type TestResult, type Verdict, summaryOf, verdictOf } from "./verdicts.ts";

const DEFAULT_MINUTES = 5;
const MINUTE_MS = 60_000;

const HELP = `usage: npm run prove -- [--only PATTERN] [--minutes N] [--verbose]

Proves what test/prove states about the contracts, for all inputs within the bounds that its README names, and checks that
the controls (refute_…) fail. The first run installs halmos and its solvers into .local/prove (Python 3.11 or newer with
venv and pip). Exits with 1 when a proof fails, when a solver or the whole run is out of time and when a control passes.
  --only PATTERN   only the proofs whose contract or name matches this regular expression
  --minutes N      how long the proofs may take in all, without installing and compiling: 1 to 600 (default ${DEFAULT_MINUTES})
  --verbose        print everything that halmos prints, counterexamples included`;

const ROOM = join("test", "prove");
const WORK = join(".local", "prove");
const VENV = join(WORK, "venv");
const REQUIREMENTS = join(ROOM, "requirements.txt");
/** How many suites are proved at once. */
const LANES = 2;
const TICK_MS = 10_000;
/** Seconds for one question to a solver: many times what one takes alone, because others may use the machine. */
const SOLVER_SECONDS = 120;
/** How long halmos asks itself whether a branch can be reached before it explores it. */
const BRANCH_MS = 200;

const { values } = readArguments(HELP, {
  only: { type: "string" },
  minutes: { type: "string", default: String(DEFAULT_MINUTES) },
  verbose: { type: "boolean" },
});
const minutes = wholeNumber("--minutes", values.minutes, 1, 600);
const only = new RegExp(values.only ?? "");
const started = performance.now();
const secondsPassed = (): number => (performance.now() - started) / 1_000;

/** One call of halmos: tests of one contract. */
interface Task {
  contract: string;
  tests: string[];
  areControls: boolean;
}

/** halmos runs `forge build` before it reads the build, which is there already. */
function writeForge(): string {
  const folder = join(WORK, "bin");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "forge"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  return resolve(folder);
}

/** Runs halmos on one task, shows each result as it comes and returns the verdicts. */
async function prove(
  task: Task,
  build: string,
  variables: Record<string, string>,
  deadline: AbortSignal,
): Promise<Verdict[]> {
  const report = join(WORK, `${task.contract}.${task.areControls ? "controls" : "proofs"}.json`);
  rmSync(report, { force: true });
  const python = resolve(VENV, "bin", "python");
  const names = task.tests.map((test) => test.replace(/\(.*/, ""));
  const child = spawn(
    resolve(VENV, "bin", "halmos"),
    [
      ...["--root", ".", "--forge-build-out", build, "--contract", task.contract],
      ...["--match-test", `^(${names.join("|")})\\(`, "--json-output", report],
      ...["--solver-command", `${python} ${join(ROOM, "solver.py")}`, "--solver-threads", "1"],
      ...["--solver-timeout-assertion", `${SOLVER_SECONDS}s`, "--solver-timeout-branching", `${BRANCH_MS}ms`],
      ...["--default-array-lengths", "1", "--default-bytes-lengths", "65"],
      ...["--no-status", "--disable-gc", ...(task.areControls ? ["--early-exit"] : [])],
    ],
    // Killed, it leaves no report, and what has no verdict fails.
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...variables },
      signal: deadline,
      killSignal: "SIGKILL",
    },
  );
  let output = "";
  let next = 0;
  const take = (line: string): void => {
    output += `${line}\n`;
    if (values.verbose === true) console.log(line);
    if (/\[(PASS|FAIL|ERROR|TIMEOUT)\]/.test(line)) next += 1;
  };
  createInterface(child.stdout).on("line", take);
  createInterface(child.stderr).on("line", take);
  const ticker = setInterval(() => {
    const name = names[next] ?? "the last results";
    console.log(`  … ${task.contract}: at ${name} (${next} of ${names.length} done), ${secondsPassed().toFixed(0)} s`);
  }, TICK_MS);
  const code = await new Promise<number>((end) => {
    child.on("error", () => {
      end(1);
    });
    child.on("close", (ended) => {
      end(ended ?? 1);
    });
  });
  clearInterval(ticker);
  const results = existsSync(report) ? readResults(report) : [];
  const verdicts = task.tests.map((test) =>
    verdictOf(
      test,
      results.find(({ name }) => name === test),
    ),
  );
  for (const { name, good, text, seconds } of verdicts) {
    console.log(`${good ? "✓" : "✗"} ${task.contract}.${name.replace(/\(.*/, "")}: ${text} (${seconds.toFixed(1)} s)`);
  }
  const failed = verdicts.some(({ good }) => !good);
  if (failed && values.verbose !== true) console.log(`halmos ended with ${code} and printed:\n${output}`);
  return verdicts;
}

function readResults(report: string): TestResult[] {
  const { test_results: results } = JSON.parse(readFileSync(report, "utf8")) as {
    test_results: Record<string, TestResult[]>;
  };
  return Object.values(results).flat();
}

await installPythonTools(VENV, REQUIREMENTS, () => {
  console.log(`Installing ${REQUIREMENTS} into ${VENV} (about half a minute) …`);
});
const { default: hre } = await import("hardhat");
console.log("Compiling the contracts and the proofs (half a minute) …");
await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
const build = join(WORK, "build");
const suites = await compileProofs(globSync(join(ROOM, "*.proofs.sol")).sort(), build, hre);
const variables = {
  ...(await builtContracts(hre)),
  PATH: [writeForge(), env["PATH"]].join(delimiter),
  PYTHONUNBUFFERED: "1",
  NO_COLOR: "1",
};
const isWanted = (contract: string) => (test: string) => only.test(`${contract}.${test}`);
const queue = suites
  .flatMap(({ contract, tests }): Task[] =>
    [false, true].map((areControls) => ({
      contract,
      areControls,
      tests: tests.filter((test) => test.startsWith("refute_") === areControls).filter(isWanted(contract)),
    })),
  )
  .filter(({ tests }) => tests.length > 0);
console.log(`Compiled in ${secondsPassed().toFixed(0)} s.`);

const verdicts: Verdict[] = [];
const deadline = AbortSignal.timeout(minutes * MINUTE_MS);
deadline.addEventListener("abort", () => {
  console.log(`The proofs take longer than ${minutes} minutes (--minutes): what is left fails.`);
});
const lane = async (): Promise<void> => {
  for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
    verdicts.push(...(await prove(task, build, variables, deadline)));
  }
};
await Promise.all(Array.from({ length: LANES }, lane));
if (verdicts.length === 0) console.error("no proof matches");
console.log(summaryOf(verdicts, secondsPassed()));
process.exit(verdicts.length > 0 && verdicts.every(({ good }) => good) ? 0 : 1);
