// Builds the subgraph for one network, ready for `graph deploy` to any graph-node or The Graph Network.
import { execFile } from "node:child_process";
import { join, relative } from "node:path";
import { promisify } from "node:util";

import { readArguments } from "../command/arguments.ts";
import { NETWORKS } from "./networks.ts";
import { ROOT } from "./paths.ts";
import { buildSubgraphProject } from "./subgraph-build.ts";
import { readTarget } from "./subgraph-target.ts";

const HELP = `usage: npm run build:subgraph -- [--deployment FILE] --network ${NETWORKS.join("|")}

Writes the subgraph of one network to subgraph/build/<network> and compiles it there.
  --network NAME      the settlement network
  --deployment FILE   where its contracts are (default deploy/deployments/<network>.json)
Then, in that folder: npx graph deploy --node ADMIN_URL --ipfs IPFS_URL marketplace/<network>
\`npm run subgraph:deploy\` builds and deploys.`;

const { values } = readArguments(HELP, { network: { type: "string" }, deployment: { type: "string" } });
const { file, deployment } = await readTarget(values.network, values.deployment);
const dir = join(ROOT, "subgraph", "build", deployment.network);
await buildSubgraphProject(deployment, dir, async ({ command, args, cwd, env }) => {
  const { stdout } = await promisify(execFile)(command, args, { cwd, env: { ...process.env, ...env } });
  return stdout;
});
process.stdout.write(`Built ${relative(process.cwd(), dir)} for the contracts of ${relative(process.cwd(), file)}.\n`);
