// `npm run test:invariant:long`: the fuzz and invariant tests with at least a million calls to the handlers.
import { randomBytes } from "node:crypto";
import { env } from "node:process";

import { readArguments } from "../command/arguments.ts";

const HELP = `usage: npm run test:invariant:long -- [--seed HEX] [--runs N] [--json]

Runs the campaigns of test/contracts/invariant and the fuzz tests of test/contracts/fuzz under the profile "long"
(hardhat.config.ts) and prints what they did. A failure prints its sequence of calls; --seed repeats a run. --runs makes fewer runs of each
campaign than the million calls need.`;

/** The used fields of the test task's result (see EDR's TestResult). */
interface Run {
  suiteResults: {
    id: { name: string };
    testResults: {
      name: string;
      status: string;
      durationNs: bigint;
      kind: Partial<Record<"runs" | "calls", bigint>>;
    }[];
  }[];
}

const { values } = readArguments(HELP, {
  seed: { type: "string" },
  runs: { type: "string" },
  json: { type: "boolean" },
});
const LEAST_CALLS = 1_000_000n;
const seed = values.seed ?? `0x${randomBytes(32).toString("hex")}`;
env["FUZZ_SEED"] = seed;
if (values.runs !== undefined) env["INVARIANT_RUNS"] = values.runs;
const { default: hre } = await import("hardhat");

if (values.json !== true) console.log(`seed ${seed}`);
const started = performance.now();
const outcome = (await hre.tasks.getTask(["test", "solidity"]).run({ testProfile: "long" })) as {
  success: boolean;
  value?: Run;
  error?: Run;
};
const seconds = (performance.now() - started) / 1_000;
const tests = ((outcome.value ?? outcome.error)?.suiteResults ?? []).flatMap((suite) =>
  suite.testResults.map((test) => ({
    name: `${suite.id.name}.${test.name}`,
    passed: test.status === "Success",
    runs: Number(test.kind.runs ?? 1n),
    calls: Number(test.kind.calls ?? 0n),
    seconds: Number(test.durationNs / 1_000_000n) / 1_000,
  })),
);
const calls = tests.reduce((sum, test) => sum + test.calls, 0);
if (values.json === true) {
  console.log(JSON.stringify({ seed, calls, seconds, success: outcome.success, tests }));
} else {
  for (const test of tests) {
    const work = test.calls > 0 ? `${test.runs} runs, ${test.calls} calls` : `${test.runs} runs`;
    console.log(`${test.passed ? "✓" : "✗"} ${test.name}: ${work}, ${test.seconds.toFixed(1)} s`);
  }
  console.log(`${calls} calls to the handlers of invariants in ${seconds.toFixed(0)} s, seed ${seed}`);
}
const enough = values.runs !== undefined || BigInt(calls) >= LEAST_CALLS;
if (!enough) console.error(`fewer than ${LEAST_CALLS} calls: raise runs or depth of the profile "long"`);
process.exit(outcome.success && enough ? 0 : 1);
