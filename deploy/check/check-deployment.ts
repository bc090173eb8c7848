import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { connectForReading } from "../system/connection.ts";
import { deploymentPaths, print } from "../system/paths.ts";

/** The action of `hardhat check-deployment`: reads everything back from the chain. It needs no key. */
export default async function checkDeployment(
  { outDir, write }: { outDir: string; write: boolean },
  hre: HardhatRuntimeEnvironment,
): Promise<void> {
  await hre.tasks.getTask("build").run({ quiet: true, noTests: true });
  const { runCheck } = await import("./run-check.ts");

  const connection = await connectForReading(hre);
  await runCheck({ ...connection, deploymentsDir: deploymentPaths(hre, outDir).deploymentsDir, write, log: print });
}
