import { task } from "hardhat/config";

const OUT_DIR = {
  name: "outDir",
  description: "Folder of the deployment file and networks.json (default: deploy/deployments and subgraph)",
  defaultValue: "",
} as const;

/** `hardhat deploy --network <name>`: puts the three contracts on a network and writes down where they are. */
export const deployTask = task("deploy", "Deploys the escrow, score and resolver contracts, or checks that they stand")
  .addOption(OUT_DIR)
  .addFlag({ name: "noCompile", description: "Take what the last build left instead of building first" })
  .setAction(async () => import("./run/deploy.ts"))
  .build();

/** `hardhat upgrade --network <name>`: puts the implementations of the present build behind the proxies. */
export const upgradeTask = task("upgrade", "Upgrades the proxies to the implementations of the present build")
  .addOption(OUT_DIR)
  .addFlag({ name: "dryRun", description: "Check and say what would be done; send nothing" })
  .setAction(async () => import("./run/upgrade.ts"))
  .build();

/** `hardhat storage-layouts`: holds the storage of the present build against the baselines. */
export const storageLayoutsTask = task("storage-layouts", "Compares the storage layouts with their baselines")
  .addFlag({ name: "write", description: "Record the present layouts as the baselines (after a deployment)" })
  .addFlag({ name: "force", description: "Let --write replace a baseline that the present layout conflicts with" })
  .setAction(async () => import("./layout/record-layouts.ts"))
  .build();

/** `hardhat check-deployment --network <name>`: reads everything back from the chain and compares. */
export const checkDeploymentTask = task("check-deployment", "Compares a deployment file with the chain")
  .addOption(OUT_DIR)
  .addFlag({ name: "write", description: "Record in the file who holds the roles and how tokens are valued now" })
  .setAction(async () => import("./check/check-deployment.ts"))
  .build();

/** `hardhat verify-deployment --network <name>`: publishes the sources (needs `ETHERSCAN_API_KEY`). */
export const verifyDeploymentTask = task("verify-deployment", "Publishes the sources of a deployment's contracts")
  .addOption(OUT_DIR)
  .setAction(async () => import("./check/verify.ts"))
  .build();
