import path from "node:path";

import type { Provider } from "ethers";

import { readDeployment, writeDeployment } from "../system/deployment-file.ts";
import { problem } from "../system/problem.ts";
import { findCodeDifferences } from "./check-code.ts";
import { readNotes } from "./check-notes.ts";
import { describeDifferences, findDifferences } from "./check.ts";
import { findTokenListDifferences } from "./listed-tokens.ts";

/** The inputs of `hardhat check-deployment`. */
export interface CheckRun {
  targetName: string;
  provider: Provider;
  deploymentsDir: string;
  /** Update role holders and token valuation in the file. */
  write: boolean;
  log: (line: string) => void;
}

/**
 * Compares a deployment file with the chain, and the code there with the current sources. Throws when anything differs,
 * and only reports lawful states worth knowing. With `write` it updates what may change lawfully (role holders; price
 * feeds, maximum ages and minimum deposits of tokens), unless something else differs too.
 */
export async function runCheck({ targetName, provider, deploymentsDir, write, log }: CheckRun): Promise<void> {
  const file = path.join(deploymentsDir, `${targetName}.json`);
  const deployment = await readDeployment(file);
  if (!deployment) throw problem(`${file} does not exist: there is nothing to check`);

  let differences = await findDifferences(provider, deployment);
  const recorded = write ? differences.filter(({ record }) => record) : [];
  for (const { record } of recorded) record?.();
  if (recorded.length > 0) differences = await findDifferences(provider, deployment);
  differences.push(...(await findTokenListDifferences(provider, deployment)));
  differences.push(...(await findCodeDifferences(provider, deployment)));
  if (differences.length > 0) throw problem(`The chain differs from ${file}:\n${describeDifferences(differences)}`);
  if (recorded.length > 0) {
    await writeDeployment(file, deployment);
    for (const { fact, actual } of recorded) log(`${fact}: ${actual}, recorded`);
  }
  for (const note of await readNotes(provider, deployment)) log(note);
  log(`${targetName}: everything is on the chain as ${file} tells`);
}
