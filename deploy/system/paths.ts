import path from "node:path";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

/** Paths of the deployment files: in `--out-dir`, or in the repository. */
export function deploymentPaths(
  hre: HardhatRuntimeEnvironment,
  outDir: string,
): { deploymentsDir: string; networksFile: string } {
  const { root } = hre.config.paths;
  return outDir === ""
    ? {
        deploymentsDir: path.join(root, "deploy", "deployments"),
        networksFile: path.join(root, "subgraph", "networks.json"),
      }
    : { deploymentsDir: path.resolve(outDir), networksFile: path.resolve(outDir, "networks.json") };
}

/** Prints a line. */
export function print(line: string): void {
  console.log(line);
}
