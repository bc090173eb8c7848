import path from "node:path";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { connectForReading } from "./connection.ts";
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

  const { targetName, provider } = await connectForReading(hre);
  const file = path.join(deploymentPaths(hre, outDir).deploymentsDir, `${targetName}.json`);
  const deployment = await readDeployment(file);
  if (!deployment) throw problem(`${file} does not exist: there is nothing to check`);
  const differences = await differencesOf(provider, deployment);
  if (differences.length > 0) throw problem(`The chain differs from ${file}:\n${describeDifferences(differences)}`);
  print(`${targetName}: everything is on the chain as ${file} tells`);
}
