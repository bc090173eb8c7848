import path from "node:path";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { deploymentPaths, print } from "./paths.ts";
import { problem } from "./problem.ts";

/** The action of `hardhat check-deployment`: reads everything back from the chain. It needs no key. */
export default async function checkDeployment(
  { outDir }: { outDir: string },
  hre: HardhatRuntimeEnvironment,
): Promise<void> {
  await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
  const { describeDifferences, differencesOf } = await import("./check.ts");
  const { readDeployment } = await import("./deployment-file.ts");

  // Reading needs no key: the accounts of the live networks are left out.
  const network = hre.globalOptions.network;
  const { ethers, networkName } = await hre.network.create({ network, override: { accounts: "remote" } });
  const file = path.join(deploymentPaths(hre, outDir).deploymentsDir, `${networkName}.json`);
  const deployment = await readDeployment(file);
  if (!deployment) throw problem(`${file} does not exist: there is nothing to check`);
  const differences = await differencesOf(ethers.provider, deployment);
  if (differences.length > 0) throw problem(`The chain differs from ${file}:\n${describeDifferences(differences)}`);
  print(`${networkName}: everything is on the chain as ${file} tells`);
}
