// `npm run test:mutation:api`: puts small faults into copies of the API and checks that the tests find each one.
import { join, resolve } from "node:path";

import { readArguments } from "../../command/arguments.ts";
import { findFreePorts } from "../../local/ports.ts";
import { PORTS_PER_STACK } from "../../local/stack-ports.ts";
import { startStack } from "../../local/stack.ts";
import { runMochaFile } from "../../testing/mocha-file.ts";
import type { FileOutcome } from "../../testing/mocha-file.ts";
import { CAMPAIGN_HELP, CAMPAIGN_OPTIONS, runCampaign } from "../mutation/campaign.ts";
import { API_MUTANTS } from "./api-mutants.ts";

const HELP = `usage: npm run test:mutation:api -- [--lanes N] [--only TEXT] [--resume] [--json]

Applies each fault of scripts/quality/mutation-api to a copy of the project under .local/mutation-api and runs the test files that
should find it, until a test fails. All share one stack of chains, subgraphs and MongoDB. A file that finds its first fault
also runs without one, and must then pass. A fault that no test finds is a survivor and fails the run.
${CAMPAIGN_HELP}`;

const { values } = readArguments(HELP, CAMPAIGN_OPTIONS);

const HOME = join(".local", "mutation-api");
/** The contents of a copy: what the API's tests read and run. */
const COPIED = [
  "api",
  "deploy",
  "docs",
  "scripts",
  "sdk",
  "tools",
  "test",
  "typechain-types",
  "package.json",
  "tsconfig.json",
];
/** For a whole file. A fault may make a test wait for something that never comes. */
const FILE_LIMIT_MS = 300_000;

const stack = await startStack({
  dir: join(HOME, "stack"),
  portBase: await findFreePorts(PORTS_PER_STACK),
  only: ["chains", "graph", "mongo"],
  fresh: true,
  disposable: true,
});
const lost = new AbortController();
stack.failure.catch(() => {
  lost.abort();
});

async function runFile(lane: string, file: string): Promise<FileOutcome> {
  const outcome = await runMochaFile({
    stage: "api",
    file: join("test", "api", file),
    cwd: resolve(lane),
    bail: true,
    env: { TEST_STACK: stack.factsPath },
    limitMs: FILE_LIMIT_MS,
    signal: lost.signal,
  });
  // Without the stack every test fails, and that finds no fault.
  if (lost.signal.aborted) throw new Error("a service of the stack has ended");
  return outcome;
}

/** Runs files until a test fails, and returns its name. */
async function firstFailure(lane: string, files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    const { results } = await runFile(lane, file);
    const failed = results.find(({ status }) => status === "failed");
    if (failed !== undefined) return `${file}${SEPARATOR}${failed.title}`;
  }
  return undefined;
}

const SEPARATOR = ": ";
/** Results of the files without a fault, by file. */
const sound = new Map<string, Promise<boolean>>();

/** Whether a file passes without a fault; on a loaded machine, in one of two runs. */
async function isSound(lane: string, file: string): Promise<boolean> {
  for (let run = 1; run <= 2; run += 1) {
    const { results } = await runFile(lane, file);
    if (results.every(({ status }) => status !== "failed")) return true;
  }
  return false;
}

async function confirm(lane: string, foundBy: string): Promise<void> {
  const [file = ""] = foundBy.split(SEPARATOR);
  const verdict = sound.get(file) ?? isSound(lane, file);
  sound.set(file, verdict);
  if (!(await verdict)) throw new Error(`${foundBy}, but this file fails without the fault too`);
}

const areAllFound = await runCampaign(
  {
    home: HOME,
    root: "api",
    copied: COPIED,
    sourcesOf: ({ file, tests }) => [join("api", file), ...tests.map((test) => join("test", "api", test))],
    mutants: API_MUTANTS,
    find: (lane, { tests }) => firstFailure(lane, tests),
    confirm,
  },
  values,
).finally(() => stack.stop());
process.exit(areAllFound ? 0 : 1);
