// Checks that each injected fault still has its place in the sources, and its tests: a change of the code may take them away.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { withFault } from "../mutation/campaign.ts";
import type { Mutant } from "../mutation/mutant.ts";
import { MUTANTS } from "../mutation/mutants.ts";
import { API_MUTANTS } from "./api-mutants.ts";

function findProblem(root: string, mutant: Mutant): string | undefined {
  try {
    withFault(readFileSync(join(root, mutant.file), "utf8"), mutant);
    return undefined;
  } catch (error) {
    return `"${mutant.fault}": ${error instanceof Error ? error.message : String(error)}`;
  }
}

const problems = [
  ...MUTANTS.map((mutant) => findProblem("contracts", mutant)),
  ...API_MUTANTS.map((mutant) => findProblem("api", mutant)),
  ...API_MUTANTS.flatMap(({ fault, tests }) =>
    tests
      .filter((test) => !existsSync(join("test", "api", test)))
      .map((test) => `"${fault}": test/api/${test} doesn't exist`),
  ),
].filter((problem) => problem !== undefined);
for (const problem of problems) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
