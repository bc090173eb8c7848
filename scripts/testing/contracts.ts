// The contract tests of the stage "contracts": Mocha, then Solidity, in one process so that the sources compile once.
import hre from "hardhat";

import { readArguments } from "../command/arguments.ts";
import { appendResult, resultsFile } from "./results.ts";

/** The used fields of the outcome of Hardhat's Solidity test task. */
interface SolidityOutcome {
  success: boolean;
  value?: SolidityRun;
  error?: SolidityRun;
}
interface SolidityRun {
  suiteResults: { id: { name: string; source: string }; testResults: { name: string; status: string }[] }[];
}

const HELP = `usage: npm run test:fork -- [--help], or node scripts/testing/contracts.ts [--help] [files …]

Runs all contract tests, or the given Mocha (.ts) and Solidity (.sol) files. test:fork runs those that settle deals on
forks: of local chains, and of the live ones when BASE_SEPOLIA_RPC_URL or BASE_RPC_URL is set.
  --help   this text`;

const stage = process.env["TEST_STAGE"] ?? "contracts";
const results = process.env["TEST_RESULTS"] ?? resultsFile(stage);
const { positionals: files } = readArguments(HELP, {}, { allowPositionals: true });
const mochaFiles = files.filter((file) => file.endsWith(".ts"));
const solidityFiles = files.filter((file) => file.endsWith(".sol"));
let ok = true;

if (files.length === 0 || mochaFiles.length > 0) {
  process.env["TEST_RESULTS"] = results;
  const mocha = (await hre.tasks.getTask(["test", "mocha"]).run({ testFiles: mochaFiles })) as { success: boolean };
  ok &&= mocha.success;
}

if (files.length === 0 || solidityFiles.length > 0) {
  const outcome = (await hre.tasks.getTask(["test", "solidity"]).run({ testFiles: solidityFiles })) as SolidityOutcome;
  ok &&= outcome.success;
  for (const suite of (outcome.value ?? outcome.error)?.suiteResults ?? []) {
    for (const test of suite.testResults) {
      appendResult(results, {
        stage,
        file: suite.id.source.replace(/^project\//, ""),
        title: `${suite.id.name} › ${test.name}`,
        status: test.status === "Success" ? "passed" : test.status === "Skipped" ? "skipped" : "failed",
      });
    }
  }
}

process.exit(ok ? 0 : 1);
