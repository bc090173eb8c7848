// Every check of the sources except tests. `npm run lint` runs only these; `npm test` runs them first.
import { glob } from "node:fs/promises";

import { readArguments } from "../command/arguments.ts";
import { type Outcome, run } from "../testing/run.ts";

const solidity = await Array.fromAsync(glob("contracts/**/*.sol"));

/** The checks by name. They need the generated bindings, so the contracts are compiled first. */
const checks: [name: string, command: string, args: string[]][] = [
  ["tsc", "tsc", ["--project", "tsconfig.json"]],
  ["eslint", "eslint", ["--max-warnings", "0", "."]],
  ["prettier", "prettier", ["--check", "--log-level", "warn", "."]],
  ["solhint", "solhint", ["--max-warnings", "0", ...solidity]],
  ["dependency-cruiser", "depcruise", ["api", "scripts", "deploy", "sdk/src", "test"]],
  ["knip", "knip", ["--treat-config-hints-as-errors"]],
  ["unused members", "node", ["scripts/quality/unused-members.ts"]],
  ["generated files", "node", ["scripts/quality/generated/check-generated.ts"]],
];

const HELP = `usage: npm run lint -- [--help]

Compiles the contracts and runs every check of the sources except tests: ${checks.map(([name]) => name).join(", ")}.
  --help   this text`;

const LANES = 2;

/** Runs the checks two at a time, prints their results and returns the names of those that failed. */
export async function lint(): Promise<string[]> {
  const built = await run("hardhat", ["build"], { capture: true });
  if (built.code !== 0) {
    console.log(built.output);
    return ["hardhat build"];
  }
  const failed: string[] = [];
  const queue = [...checks];
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [name, command, args] = next;
      const outcome = await run(command, args, { capture: true });
      report(name, outcome);
      if (outcome.code !== 0) failed.push(name);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return failed;
}

function report(name: string, outcome: Outcome): void {
  const seconds = outcome.seconds.toFixed(1);
  console.log(outcome.code === 0 ? `  ✓ ${name} (${seconds} s)` : `  ✗ ${name} (${seconds} s)\n${outcome.output}`);
}

if (import.meta.main) {
  readArguments(HELP, {});
  const failed = await lint();
  if (failed.length > 0) console.log(`Failed: ${failed.join(", ")}`);
  process.exit(failed.length === 0 ? 0 : 1);
}
