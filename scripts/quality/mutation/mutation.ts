// `npm run test:mutation`: puts small faults into copies of the contracts and checks that the tests find each one.
import { createHash } from "node:crypto";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { env } from "node:process";

import { readArguments } from "../../command/arguments.ts";
import { run } from "../../testing/run.ts";
import type { Mutant } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";

const HELP = `usage: npm run test:mutation -- [--lanes N] [--only TEXT] [--solidity] [--resume] [--json]

Applies each fault of scripts/quality/mutation/mutants.ts to a copy of the project under .local/mutation, compiles the contracts
and runs the unit tests until one fails. Only a fault that they miss runs the Solidity tests, which take a minute to
compile. A fault that no test finds is a survivor and fails the run.
  --lanes N     copies that run concurrently (2)
  --solidity    only the Solidity tests, to see what the fuzz and invariant tests find by themselves
  --only TEXT   only the faults whose description or file contains the text
  --resume      keep the verdicts of an interrupted run for unchanged faults and sources
  --json        one JSON object at the end`;

const { values } = readArguments(HELP, {
  lanes: { type: "string", default: "2" },
  only: { type: "string" },
  solidity: { type: "boolean" },
  resume: { type: "boolean" },
  json: { type: "boolean" },
});

const HOME = join(".local", "mutation");
/** The contents of a copy; packages are linked. Leaves out the deployment tests, which need their own chain. */
const COPIED = [
  "api",
  "contracts",
  "deploy",
  "docs",
  "scripts",
  "test",
  "typechain-types",
  "package.json",
  "hardhat.config.ts",
];
const BUILT = ["artifacts", "cache"];
const UNIT_TESTS = "test/contracts/unit/**/*.test.ts";
/** What the unit tests deploy of ours: ten seconds to compile, where everything with the Solidity tests takes sixty. */
const DEPLOYED = ["EscrowV2", "ScoreV2", "ResolverV2", "MarketplaceDeployment", "mocks/ConstantsReader"].map(
  (contract) => `contracts/${contract}.sol`,
);
/** The faults found so far, with a hash of their contracts. */
const FOUND = join(HOME, "found.json");

const SOURCES = globSync("contracts/**/*.sol")
  .sort()
  .map((file) => readFileSync(file, "utf8"))
  .join("\0");

/** The verdict on a fault. */
interface Verdict {
  fault: string;
  file: string;
  /** The test that found it; undefined for a survivor. */
  foundBy: string | undefined;
  /** Output of the test runner if it crashed twice, which leaves no verdict. */
  crash?: string;
  seconds: number;
}

const say = (text: string): void => {
  if (values.json !== true) console.log(text);
};

function makeLane(number: number): string {
  const lane = join(HOME, `lane-${number}`);
  rmSync(lane, { recursive: true, force: true });
  mkdirSync(lane, { recursive: true });
  for (const part of [...COPIED, ...BUILT]) {
    if (existsSync(part)) cpSync(part, join(lane, part), { recursive: true });
  }
  symlinkSync(resolve("node_modules"), join(lane, "node_modules"));
  return lane;
}

/** The source with the fault. Throws when the fault no longer matches the source. */
function withFault(mutant: Mutant): string {
  const source = readFileSync(join("contracts", mutant.file), "utf8");
  const parts = source.split(mutant.from);
  if (parts.length !== 2) {
    throw new Error(`${mutant.file} holds "${mutant.from}" ${parts.length - 1} times instead of once: fix the list`);
  }
  return parts.join(mutant.to);
}

function hardhat(lane: string, ...args: string[]) {
  const runEnv = { ...env, TEST_RESULTS: resolve(lane, "results.jsonl") };
  return run("hardhat", ["--no-typechain", ...args], { cwd: lane, env: runEnv, capture: true });
}

/** Compiles a lane, runs its tests until one fails, and returns the name of that one. */
async function findFault(lane: string): Promise<string | undefined> {
  if (values.solidity === true) return findBySolidity(lane);
  return (await findByUnitTests(lane)) ?? (await findBySolidity(lane));
}

async function findByUnitTests(lane: string): Promise<string | undefined> {
  const build = await hardhat(lane, "build", "--no-tests", ...DEPLOYED);
  if (build.code !== 0) throw new Error(`does not compile:\n${build.output.slice(-2_000)}`);
  const files = globSync(UNIT_TESTS, { cwd: lane }).sort();
  const mocha = await hardhat(lane, "test", "mocha", "--no-compile", "--bail", ...files);
  return mocha.code === 0 ? undefined : firstFailure(mocha.output, "unit tests");
}

async function findBySolidity(lane: string): Promise<string | undefined> {
  const solidity = await hardhat(lane, "test", "solidity", "--test-profile", "mutation");
  if (!solidity.output.includes("Running Solidity tests")) {
    throw new Error(`does not compile:\n${solidity.output.slice(-2_000)}`);
  }
  return solidity.code === 0 ? undefined : firstFailure(solidity.output, "fuzz and invariant tests");
}

/** The first failed test. Throws when the runner itself broke, because that finds nothing. */
function firstFailure(output: string, kind: string): string {
  const line = output.split("\n").find((text) => /^\s+1\) /.test(text));
  if (line === undefined) throw new Error(`the runner of the ${kind} crashed:\n${output.slice(-2_000)}`);
  return `${kind}: ${line.replace(/^\s+1\) /, "").trim()}`;
}

async function judge(lane: string, mutant: Mutant): Promise<Verdict> {
  const started = performance.now();
  const path = join(lane, "contracts", mutant.file);
  const original = readFileSync(path, "utf8");
  writeFileSync(path, withFault(mutant));
  const verdict = (result: Pick<Verdict, "foundBy" | "crash">): Verdict => ({
    ...{ fault: mutant.fault, file: mutant.file, ...result },
    seconds: (performance.now() - started) / 1_000,
  });
  try {
    // On a loaded machine a runner may crash; one fault without a verdict shouldn't lose the hour of the others.
    const foundBy = await findFault(lane).catch(() => findFault(lane));
    return verdict({ foundBy });
  } catch (error) {
    return verdict({ foundBy: undefined, crash: error instanceof Error ? error.message : String(error) });
  } finally {
    writeFileSync(path, original);
  }
}

function resultOf({ foundBy, crash }: Verdict): string {
  if (crash !== undefined) return `✗ NO VERDICT: ${crash}`;
  return foundBy === undefined ? "✗ SURVIVES" : `✓ ${foundBy}`;
}

/** A hash of the contracts and the fault. A verdict holds only for these. */
function keyOf(mutant: Mutant): string {
  return createHash("sha256").update(SOURCES).update(JSON.stringify(mutant)).digest("hex");
}

function foundBefore(): Record<string, Verdict> {
  return existsSync(FOUND) ? (JSON.parse(readFileSync(FOUND, "utf8")) as Record<string, Verdict>) : {};
}

const chosen = MUTANTS.filter(({ fault, file }) => `${fault} ${file}`.includes(values.only ?? ""));
for (const mutant of chosen) withFault(mutant);
if (!existsSync("typechain-types")) {
  say("compiling the contracts …");
  const build = await run("hardhat", ["build"], { capture: true });
  if (build.code !== 0) throw new Error(`does not compile:\n${build.output.slice(-2_000)}`);
}
const lanes = Array.from({ length: Math.min(Number(values.lanes), chosen.length) }, (_, index) => makeLane(index));
const [first] = lanes;
if (first === undefined) throw new Error("no fault matches --only");

say(`${chosen.length} faults, ${lanes.length} copies under ${HOME}; first the tests without a fault …`);
const sound = await findFault(first);
if (sound !== undefined) throw new Error(`the tests fail without any fault (${sound}): fix that first`);
for (const lane of lanes.slice(1)) {
  for (const part of BUILT) cpSync(join(first, part), join(lane, part), { recursive: true });
}

const found: Record<string, Verdict> = values.resume === true ? foundBefore() : {};
const verdicts: Verdict[] = chosen.flatMap((mutant) => found[keyOf(mutant)] ?? []);
if (verdicts.length > 0) say(`${verdicts.length} were found by the run before`);
const queue = chosen.filter((mutant) => found[keyOf(mutant)] === undefined);
const started = performance.now();
await Promise.all(
  lanes.map(async (lane) => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const verdict = await judge(lane, mutant);
      verdicts.push(verdict);
      if (verdict.foundBy !== undefined) {
        found[keyOf(mutant)] = verdict;
        writeFileSync(FOUND, JSON.stringify(found, undefined, 2));
      }
      say(
        `${verdicts.length}/${chosen.length} ${verdict.file}: ${verdict.fault}\n` +
          `      ${resultOf(verdict)} (${verdict.seconds.toFixed(0)} s)`,
      );
    }
  }),
);
const survivors = verdicts.filter(({ foundBy }) => foundBy === undefined);
const seconds = (performance.now() - started) / 1_000;
if (values.json === true) console.log(JSON.stringify({ faults: verdicts.length, survivors, seconds, verdicts }));
else {
  console.log(`\n${verdicts.length - survivors.length} of ${verdicts.length} faults found in ${seconds.toFixed(0)} s`);
  for (const { fault, file, crash } of survivors) {
    console.log(`${crash === undefined ? "survivor" : "no verdict"}: ${file}: ${fault}`);
  }
}
process.exit(survivors.length === 0 ? 0 : 1);
