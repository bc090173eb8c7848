import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { connectForDeployment } from "../system/connection.ts";
import { deploymentPaths, print } from "../system/paths.ts";

/** The arguments of `hardhat deploy`. */
interface DeployArguments {
  outDir: string;
  noCompile: boolean;
}

/** The action of `hardhat deploy`. */
export default async function deploy(
  { outDir, noCompile }: DeployArguments,
  hre: HardhatRuntimeEnvironment,
): Promise<void> {
  // The build generates the bindings that the deployment imports. Two concurrent builds corrupt each other's output, so
  // build once before deploying to several networks at the same time.
  if (!noCompile) await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
  const { runDeployment } = await import("./run-deployment.ts");

  const connection = await connectForDeployment(hre);
  await runDeployment({ ...connection, ...deploymentPaths(hre, outDir), env: process.env, log: print });
}
