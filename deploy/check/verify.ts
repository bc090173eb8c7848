import path from "node:path";

import { verifyContract } from "@nomicfoundation/hardhat-verify/verify";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { connectForReading } from "../system/connection.ts";
import { deploymentPaths, print } from "../system/paths.ts";
import { problem } from "../system/problem.ts";

/** The action of `hardhat verify-deployment`: publishes the sources of all contracts of a deployment. */
export default async function verifyDeployment(
  { outDir }: { outDir: string },
  hre: HardhatRuntimeEnvironment,
): Promise<void> {
  await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
  const { readDeployment } = await import("../system/deployment-file.ts");
  const { publishedContracts } = await import("./published-contracts.ts");

  // Publishing sources needs no account.
  const { targetName } = await connectForReading(hre);
  const file = path.join(deploymentPaths(hre, outDir).deploymentsDir, `${targetName}.json`);
  const deployment = await readDeployment(file);
  if (!deployment) throw problem(`${file} does not exist: there is nothing to verify`);
  for (const { title, ...args } of publishedContracts(deployment)) {
    print(`${title} at ${args.address}`);
    await verifyContract({ ...args, provider: "etherscan" }, hre);
  }
}
