import { task } from "hardhat/config";

const OUT_DIR = {
  name: "outDir",
  description: "Folder of the deployment file and networks.json (default: deploy/deployments and subgraph)",
  defaultValue: "",
} as const;

/** `hardhat deploy --network <name>`: deploys the three contracts and records their addresses. */
export const deployTask = task(
  "deploy",
  "Deploys the escrow, score and resolver contracts, or checks an existing deployment",
)
  .addOption(OUT_DIR)
  .addFlag({ name: "noCompile", description: "Use the output of the last build instead of building first" })
  .setAction(async () => import("./run/deploy.ts"))
  .build();

/** `hardhat upgrade --network <name>`: upgrades the proxies to the implementations of the current build. */
export const upgradeTask = task("upgrade", "Upgrades the proxies to the implementations of the current build")
  .addOption(OUT_DIR)
  .addFlag({ name: "dryRun", description: "Check and report what would be done; send nothing" })
  .setAction(async () => import("./run/upgrade.ts"))
  .build();

/** `hardhat storage-layouts`: compares the storage of the current build with the baselines. */
export const storageLayoutsTask = task("storage-layouts", "Compares the storage layouts with their baselines")
  .addFlag({ name: "write", description: "Record the current layouts as the baselines (after a deployment)" })
  .addFlag({ name: "force", description: "Let --write replace a baseline that conflicts with the current layout" })
  .setAction(async () => import("./layout/record-layouts.ts"))
  .build();

/** `hardhat check-deployment --network <name>`: compares a deployment file with the chain. */
export const checkDeploymentTask = task("check-deployment", "Compares a deployment file with the chain")
  .addOption(OUT_DIR)
  .addFlag({ name: "write", description: "Update role holders and token valuation in the file" })
  .setAction(async () => import("./check/check-deployment.ts"))
  .build();

/** `hardhat verify-deployment --network <name>`: publishes the sources (needs `ETHERSCAN_API_KEY`). */
export const verifyDeploymentTask = task("verify-deployment", "Publishes the sources of a deployment's contracts")
  .addOption(OUT_DIR)
  .setAction(async () => import("./check/verify.ts"))
  .build();
