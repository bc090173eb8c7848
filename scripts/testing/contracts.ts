// The contract tests of the stage "contracts": Mocha, then Solidity, in one process so that the sources compile once.
import hre from "hardhat";

import { appendResult, resultsFile } from "./results.ts";

/** What Hardhat's Solidity test task answers, as far as it is read here. */
interface SolidityOutcome {
  success: boolean;
  value?: SolidityRun;
  error?: SolidityRun;
}
interface SolidityRun {
  suiteResults: { id: { name: string; source: string }; testResults: { name: string; status: string }[] }[];
}

const stage = process.env["TEST_STAGE"] ?? "contracts";
const files = process.argv.slice(2);
const mochaFiles = files.filter((file) => file.endsWith(".ts"));
const solidityFiles = files.filter((file) => file.endsWith(".sol"));
let ok = true;

if (files.length === 0 || mochaFiles.length > 0) {
  process.env["TEST_RESULTS"] = resultsFile(stage);
  const mocha = (await hre.tasks.getTask(["test", "mocha"]).run({ testFiles: mochaFiles })) as { success: boolean };
  ok &&= mocha.success;
}

if (files.length === 0 || solidityFiles.length > 0) {
  const outcome = (await hre.tasks.getTask(["test", "solidity"]).run({ testFiles: solidityFiles })) as SolidityOutcome;
  ok &&= outcome.success;
  for (const suite of (outcome.value ?? outcome.error)?.suiteResults ?? []) {
    for (const test of suite.testResults) {
      appendResult(resultsFile(stage), {
        stage,
        file: suite.id.source.replace(/^project\//, ""),
        title: `${suite.id.name} › ${test.name}`,
        status: test.status === "Success" ? "passed" : test.status === "Skipped" ? "skipped" : "failed",
      });
    }
  }
}

process.exit(ok ? 0 : 1);
