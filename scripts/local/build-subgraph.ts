// Builds the subgraph for one network, ready for `graph deploy` to any graph-node or The Graph Network.
import { execFile } from "node:child_process";
import { join, relative } from "node:path";
import { promisify } from "node:util";

import { readDeployment } from "../../deploy/system/deployment-file.ts";
import { readArguments } from "../command/arguments.ts";
import { NETWORKS } from "./networks.ts";
import { ROOT } from "./paths.ts";
import { buildSubgraphProject } from "./subgraph-build.ts";

const HELP = `usage: npm run build:subgraph -- [--deployment FILE] --network ${NETWORKS.join("|")}

Writes the subgraph of one network to subgraph/build/<network> and compiles it there. Run \`hardhat build\` before.
  --network NAME      the settlement network
  --deployment FILE   where its contracts are (default deploy/deployments/<network>.json)
Then, in that folder: npx graph deploy --node ADMIN_URL --ipfs IPFS_URL marketplace/<network>`;

const { values } = readArguments(HELP, { network: { type: "string" }, deployment: { type: "string" } });
const network = NETWORKS.find((name) => name === values.network);
if (network === undefined) {
  process.stderr.write(`--network must be one of ${NETWORKS.join(", ")}.\n`);
  process.exit(2);
}
const file = values.deployment ?? join(ROOT, "deploy", "deployments", `${network}.json`);
const deployment = await readDeployment(file);
if (deployment === undefined) {
  process.stderr.write(`${file} does not exist: deploy the contracts first, or name another file with --deployment.\n`);
  process.exit(1);
}
if (deployment.network !== network) {
  process.stderr.write(`${file} is a deployment on ${deployment.network}, not on ${network}.\n`);
  process.exit(1);
}
const dir = join(ROOT, "subgraph", "build", network);
await buildSubgraphProject(deployment, dir, async ({ command, args, cwd, env }) => {
  const { stdout } = await promisify(execFile)(command, args, { cwd, env: { ...process.env, ...env } });
  return stdout;
});
process.stdout.write(`Built ${relative(process.cwd(), dir)} for the contracts of ${relative(process.cwd(), file)}.\n`);
