import path from "node:path";

import type { Provider } from "ethers";

import { readDeployment, writeDeployment } from "../system/deployment-file.ts";
import { problem } from "../system/problem.ts";
import { codeDifferencesOf } from "./check-code.ts";
import { notesOf } from "./check-notes.ts";
import { describeDifferences, differencesOf } from "./check.ts";

/** What a run of `hardhat check-deployment` works with. */
export interface CheckRun {
  targetName: string;
  provider: Provider;
  deploymentsDir: string;
  /** Record in the file who holds the roles now and how the tokens are valued now. */
  write: boolean;
  log: (line: string) => void;
}

/**
 * Compares a deployment file with the chain, and the code there with the present sources. Throws when anything differs;
 * what is by the rules but worth knowing is only said. With `write` the file is made to say what may have changed by the
 * rules (holders of roles, feeds, ages and least deposits of tokens); nothing is written when more than that differs.
 */
export async function runCheck({ targetName, provider, deploymentsDir, write, log }: CheckRun): Promise<void> {
  const file = path.join(deploymentsDir, `${targetName}.json`);
  const deployment = await readDeployment(file);
  if (!deployment) throw problem(`${file} does not exist: there is nothing to check`);

  let differences = await differencesOf(provider, deployment);
  const recorded = write ? differences.filter(({ record }) => record) : [];
  for (const { record } of recorded) record?.();
  if (recorded.length > 0) differences = await differencesOf(provider, deployment);
  differences.push(...(await codeDifferencesOf(provider, deployment)));
  if (differences.length > 0) throw problem(`The chain differs from ${file}:\n${describeDifferences(differences)}`);
  if (recorded.length > 0) {
    await writeDeployment(file, deployment);
    for (const { fact, actual } of recorded) log(`${fact}: ${actual}, recorded`);
  }
  for (const note of await notesOf(provider, deployment)) log(note);
  log(`${targetName}: everything is on the chain as ${file} tells`);
}
