// `npm run test:mutation`: puts small faults into copies of the contracts and checks that the tests find each one.
import { cpSync, existsSync, globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { env } from "node:process";

import { readArguments } from "../../command/arguments.ts";
import { run } from "../../testing/run.ts";
import { CAMPAIGN_HELP, CAMPAIGN_OPTIONS, chosenOf, runCampaign } from "./campaign.ts";
import type { Mutant } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";

const HELP = `usage: npm run test:mutation -- [--lanes N] [--only TEXT] [--solidity] [--resume] [--json]

Applies each fault of scripts/quality/mutation/mutants.ts to a copy of the project under .local/mutation, compiles the contracts
and runs the unit tests until one fails. Only a fault that they miss runs the Solidity tests, which take a minute to
compile. A fault that no test finds is a survivor and fails the run.
  --solidity    only the Solidity tests, to see what the fuzz and invariant tests find by themselves
${CAMPAIGN_HELP}`;

const { values } = readArguments(HELP, { ...CAMPAIGN_OPTIONS, solidity: { type: "boolean" } });

/** The contents of a copy. Leaves out the deployment tests, which need their own chain. */
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
/** The kinds of tests, as a verdict names them. */
const [UNIT, SOLIDITY] = ["unit tests", "fuzz and invariant tests"];
/** Folders of unit tests, and the contract or part that each is about; all else is the escrow contract's. */
const AREAS = [
  ["resolver", "ResolverV2.sol"],
  ["score", "ScoreV2.sol"],
  ["administration", "EscrowAdministration.sol"],
] as const;
/** The contracts that the unit tests deploy. They compile in ten seconds; everything with the Solidity tests takes sixty. */
const DEPLOYED = ["EscrowV2", "ScoreV2", "ResolverV2", "MarketplaceDeployment", "mocks/ConstantsReader"].map(
  (contract) => `contracts/${contract}.sol`,
);

function hardhat(lane: string, ...args: string[]) {
  const runEnv = { ...env, TEST_RESULTS: resolve(lane, "results.jsonl") };
  return run("hardhat", ["--no-typechain", ...args], { cwd: lane, env: runEnv, capture: true });
}

/** Compiles a lane, runs its tests until one fails, and returns the name of that one. */
async function findFault(lane: string, mutant: Mutant): Promise<string | undefined> {
  if (values.solidity === true) return findBySolidity(lane);
  return (await findByUnitTests(lane, mutant)) ?? (await findBySolidity(lane));
}

/**
 * The unit tests in turns. For a fault: those of its function, which most likely find it, then all others. Without one:
 * all, then each file that a fault runs alone, because a file that only passes after others would "find" every fault.
 */
function unitTestsFor(lane: string, mutant: Mutant | undefined): string[][] {
  const files = globSync(UNIT_TESTS, { cwd: lane }).sort();
  if (mutant !== undefined) return turnsFor(mutant, files);
  const alone = new Set(chosenOf(MUTANTS, values).flatMap((chosen) => turnsFor(chosen, files)[0]));
  return [files, ...[...alone].map((file) => [file])];
}

function turnsFor(mutant: Mutant, files: readonly string[]): [ofFunction: string[], others: string[]] {
  const before = readFileSync(join("contracts", mutant.file), "utf8").split(mutant.from)[0] ?? "";
  const [, functionName = ""] = /.*function (\w+)/s.exec(before) ?? [];
  const [area] = AREAS.find(([, contract]) => mutant.file.endsWith(contract)) ?? ["escrow"];
  const ofFunction = files.filter((file) => file.endsWith(`/${functionName}.test.ts`));
  const others = files.filter((file) => !ofFunction.includes(file));
  const ofArea = others.filter((file) => file.includes(`/unit/${area}/`));
  return [ofFunction, [...ofArea, ...others.filter((file) => !ofArea.includes(file))]];
}

async function findByUnitTests(lane: string, mutant?: Mutant): Promise<string | undefined> {
  const build = await hardhat(lane, "build", "--no-tests", ...DEPLOYED);
  if (build.code !== 0) throw new Error(`does not compile:\n${build.output.slice(-2_000)}`);
  for (const files of unitTestsFor(lane, mutant)) {
    if (files.length === 0) continue;
    const mocha = await hardhat(lane, "test", "mocha", "--no-compile", "--bail", ...files);
    if (mocha.code !== 0) return firstFailure(mocha.output, UNIT);
  }
  return undefined;
}

async function findBySolidity(lane: string): Promise<string | undefined> {
  const solidity = await hardhat(lane, "test", "solidity", "--test-profile", "mutation");
  if (!solidity.output.includes("Running Solidity tests")) {
    throw new Error(`does not compile:\n${solidity.output.slice(-2_000)}`);
  }
  return solidity.code === 0 ? undefined : firstFailure(solidity.output, SOLIDITY);
}

/** The first failed test. Throws when the runner itself broke, because that finds nothing. */
function firstFailure(output: string, kind: string): string {
  const line = output.split("\n").find((text) => /^\s+1\) /.test(text));
  if (line === undefined) throw new Error(`the runner of the ${kind} crashed:\n${output.slice(-2_000)}`);
  return `${kind}: ${line.replace(/^\s+1\) /, "").trim()}`;
}

/** The Solidity tests that fail without a fault: none, unless they are broken. */
let solidityWithoutFault: ReturnType<typeof findBySolidity> | undefined;

const areAllFound = await runCampaign(
  {
    home: join(".local", "mutation"),
    root: "contracts",
    copied: [...COPIED, ...BUILT],
    // Not the tests and their mocks: no run keeps a survivor, so a new test meets it, and an edit of one
    // should not cost all verdicts.
    sourcesOf: () => ["contracts/*.sol", "contracts/{escrow,interfaces,libraries,types}/**/*.sol"],
    mutants: MUTANTS,
    async prepare(say) {
      if (existsSync("typechain-types")) return;
      say("compiling the contracts …");
      const build = await run("hardhat", ["build"], { capture: true });
      if (build.code !== 0) throw new Error(`does not compile:\n${build.output.slice(-2_000)}`);
    },
    async begin([first = "", ...others], say) {
      say("first the tests without a fault …");
      const failed = values.solidity === true ? await findBySolidity(first) : await findByUnitTests(first);
      if (failed !== undefined) throw new Error(`the tests fail without any fault (${failed}): fix that first`);
      for (const lane of others) {
        for (const part of BUILT) cpSync(join(first, part), join(lane, part), { recursive: true });
      }
    },
    find: findFault,
    async confirm(lane, foundBy) {
      if (!foundBy.startsWith(SOLIDITY) || values.solidity === true) return;
      // Few faults need the Solidity tests, so only then do these run without a fault, once.
      solidityWithoutFault ??= findBySolidity(lane);
      const failed = await solidityWithoutFault;
      if (failed !== undefined) throw new Error(`the tests fail without any fault too (${failed}): fix that first`);
    },
  },
  values,
);
process.exit(areAllFound ? 0 : 1);
