import { task } from "hardhat/config";

/** `hardhat deploy --network <name>`: puts the three contracts on a network and writes down where they are. */
export const deployTask = task("deploy", "Deploys the escrow, score and resolver contracts, or checks that they stand")
  .addOption({
    name: "outDir",
    description: "Folder for the deployment file and networks.json (default: deploy/deployments and subgraph)",
    defaultValue: "",
  })
  .addFlag({ name: "noCompile", description: "Take what the last build left instead of building first" })
  .setAction(async () => import("./deploy.ts"))
  .build();
