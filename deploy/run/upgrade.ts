import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import {
  UPGRADEABLE_CONTRACTS,
  implementationReports,
  layoutConflicts,
  readBaseline,
} from "../layout/storage-layout.ts";
import { connectForDeployment, connectForReading } from "../system/connection.ts";
import { deploymentPaths, print } from "../system/paths.ts";

/** The action of `hardhat upgrade`. */
export default async function upgrade(
  { outDir, dryRun }: { outDir: string; dryRun: boolean },
  hre: HardhatRuntimeEnvironment,
): Promise<void> {
  await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
  const { candidatesOfBuild, runUpgrade } = await import("./run-upgrade.ts");

  const candidates = candidatesOfBuild(await objectionsOfBuild(hre));
  const connection = dryRun ? await connectForReading(hre) : await connectForDeployment(hre);
  const { deploymentsDir } = deploymentPaths(hre, outDir);
  await runUpgrade({ ...connection, deploymentsDir, candidates, log: print });
}

/** Why implementations of the current build can't replace those of the baselines, by contract. */
async function objectionsOfBuild(hre: HardhatRuntimeEnvironment): Promise<Record<string, string[]>> {
  const sources = Object.fromEntries(UPGRADEABLE_CONTRACTS.map((name) => [name, `contracts/${name}.sol`]));
  const objections: Record<string, string[]> = {};
  for (const [name, { layout, unsafe }] of Object.entries(await implementationReports(hre, sources))) {
    const conflicts = layoutConflicts(await readBaseline(hre.config.paths.root, name), layout);
    objections[name] = [...conflicts, ...(unsafe === null ? [] : [unsafe])];
  }
  return objections;
}
