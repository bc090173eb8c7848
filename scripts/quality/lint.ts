// Every check of the sources except tests. `npm run lint` runs only these; `npm test` runs them beside the tests.
import { glob } from "node:fs/promises";

import { readArguments } from "../command/arguments.ts";
import { type Outcome, run } from "../testing/run.ts";

const solidity = await Array.fromAsync(glob("contracts/**/*.sol"));
const proofs = await Array.fromAsync(glob("test/prove/**/*.sol"));

/** A check of the sources: its name and its command. */
type Check = [name: string, command: string, args: string[]];

/** The checks that read the sources alone: they run beside the compile, which uses one core. */
const ofSources: Check[] = [
  ["prettier", "prettier", ["--check", "--log-level", "warn", "."]],
  ["solhint", "solhint", ["--max-warnings", "0", ...solidity]],
  ["injected faults", "node", ["scripts/quality/mutation-api/check-faults.ts"]],
  ["pages", "node", ["scripts/quality/docs/check-docs.ts"]],
  ["solhint of the proofs", "solhint", ["--max-warnings", "0", "--config", "test/prove/.solhint.json", ...proofs]],
];
/** It keeps all types in memory, 3 GB: more than Node takes by itself on a machine with 8 GB. */
const TYPED = ["--max-old-space-size=4096", "scripts/quality/typed.ts"];
/** The checks that read what the compile generated. */
const ofGenerated: Check[] = [
  ["tsc, eslint and unused members", "node", TYPED],
  [
    "dependency-cruiser",
    "depcruise",
    ["api", "scripts", "deploy", "sdk/src", "tools/src", "cli/src", "web/src", "test"],
  ],
  ["knip", "knip", ["--treat-config-hints-as-errors"]],
  ["generated files", "node", ["scripts/quality/generated/check-generated.ts"]],
];
const names = [...ofSources, ...ofGenerated].map(([name]) => name).join(", ");

const HELP = `usage: npm run lint -- [--help]

Compiles the contracts and runs every check of the sources except tests: ${names}.
  --help   this text`;

/** Checks under way. */
export interface Lint {
  /** Settles once the contracts are compiled and their bindings generated, or have failed to be. */
  built: Promise<unknown>;
  /** Settles with the names of the checks that failed. */
  failed: Promise<string[]>;
}

/**
 * Starts the compile and the checks, and prints their results as they come.
 * @param written settles once nothing else generates bindings
 */
export function startLint(checksAtOnce: 1 | 2, written: Promise<unknown> = Promise.resolve()): Lint {
  const failed: string[] = [];
  const runAll = async (queue: Check[]): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [name, command, args] = next;
      const outcome = await run(command, args, { capture: true });
      report(name, outcome);
      if (outcome.code !== 0) failed.push(name);
    }
  };
  const waiting = [...ofGenerated];
  const building = run("hardhat", ["build"], { capture: true });
  const afterBuild = async (): Promise<void> => {
    const { code } = await building;
    await written;
    if (code === 0) await runAll(waiting);
  };
  const finish = async (): Promise<string[]> => {
    await Promise.all([runAll([...ofSources]).then(afterBuild), ...(checksAtOnce === 2 ? [afterBuild()] : [])]);
    const built = await building;
    if (built.code !== 0) {
      console.log(built.output);
      failed.unshift("hardhat build");
    }
    return failed;
  };
  return { built: building, failed: finish() };
}

function report(name: string, outcome: Outcome): void {
  const seconds = outcome.seconds.toFixed(1);
  console.log(outcome.code === 0 ? `  ✓ ${name} (${seconds} s)` : `  ✗ ${name} (${seconds} s)\n${outcome.output}`);
}

if (import.meta.main) {
  readArguments(HELP, {});
  const failed = await startLint(2).failed;
  if (failed.length > 0) console.log(`Failed: ${failed.join(", ")}`);
  process.exit(failed.length === 0 ? 0 : 1);
}
