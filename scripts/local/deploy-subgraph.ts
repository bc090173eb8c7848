// `npm run subgraph:deploy`: builds the subgraph of one network and deploys it to a graph-node or to Studio.
import { execFile } from "node:child_process";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

import { readArguments, refuseArguments } from "../command/arguments.ts";
import { subgraphName } from "./graph-node.ts";
import { NETWORKS } from "./networks.ts";
import { CACHE_DIR, ROOT, SCRIPTS } from "./paths.ts";
import { createSubgraph, deploySubgraph, SubgraphAdminError } from "./subgraph-admin.ts";
import { buildSubgraphProject, compileSubgraph, renderSubgraph } from "./subgraph-build.ts";
import { fail, readTarget } from "./subgraph-target.ts";
import type { RunJob } from "./supervisor.ts";

const STUDIO_URL = "https://api.studio.thegraph.com/deploy/";
const STUDIO_IPFS_URL = "https://api.thegraph.com/ipfs/api/v0";
const HELP = `usage: npm run subgraph:deploy -- --network ${NETWORKS.join("|")} (--node URL | --studio) [options]

Builds the subgraph for the contracts of one network and deploys it.
  --network NAME        the settlement network
  --deployment FILE     where its contracts are (default deploy/deployments/<network>.json)
  --node URL            admin address of a graph-node, such as http://127.0.0.1:8020
  --ipfs URL            IPFS node that it reads, such as http://127.0.0.1:5001; without it, a graph-node on this machine
                        reads the files from disk (gnd does)
  --studio              deploy to The Graph's Studio instead, with the key in GRAPH_DEPLOY_KEY
  --name NAME           name of the subgraph (default marketplace/<network>), in Studio its slug (required)
  --version-label TEXT  default: a hash of the subgraph
  --help                this text`;

const { values } = readArguments(HELP, {
  network: { type: "string" },
  deployment: { type: "string" },
  node: { type: "string" },
  ipfs: { type: "string" },
  studio: { type: "boolean" },
  name: { type: "string" },
  "version-label": { type: "string" },
});
if ((values.node === undefined) !== (values.studio === true)) refuseArguments("Give either --node URL or --studio.");
for (const [option, value] of [
  ["--node", values.node],
  ["--ipfs", values.ipfs],
] as const) {
  if (value !== undefined && !isHttpUrl(value))
    refuseArguments(`${option} must be an http or https URL, not "${value}".`);
}
const { deployment } = await readTarget(values.network, values.deployment);
const { network } = deployment;
const deployKey = process.env["GRAPH_DEPLOY_KEY"] ?? "";
if (values.studio === true && values.name === undefined) refuseArguments("--studio needs --name, the subgraph's slug.");
if (values.studio === true && deployKey === "") {
  fail("GRAPH_DEPLOY_KEY is not set: copy the deploy key from the subgraph's page in Studio.");
}

const name = values.name ?? subgraphName(network);
const admin = { url: values.node ?? STUDIO_URL, deployKey: deployKey === "" ? undefined : deployKey };
const ipfs = values.ipfs ?? (values.studio === true ? STUDIO_IPFS_URL : undefined);
try {
  const compiled = renderSubgraph(await compileSubgraph(CACHE_DIR, run), deployment, buildDir("deployed"));
  const source = ipfs === undefined ? compiled : await upload(ipfs);
  if (values.studio !== true) await createSubgraph(admin, name);
  const label = values["version-label"] ?? basename(dirname(compiled));
  const queries = await deploySubgraph(admin, name, source, label);
  process.stdout.write(`Deployed ${name} (${label}) from ${source}.\nQueries: ${queries}\n`);
} catch (error) {
  fail(messageOf(error));
}

/** Compiles the subgraph once more, with graph-cli's upload, and returns the manifest's hash. */
async function upload(ipfsUrl: string): Promise<string> {
  const dir = buildDir(network);
  await buildSubgraphProject(deployment, dir, run);
  const output = await run({
    name: "subgraph-upload",
    command: process.execPath,
    args: [SCRIPTS.graph, "build", "--ipfs", ipfsUrl],
    cwd: dir,
    env: { GRAPH_SKIP_NEW_VERSION_CHECK: "true" },
  });
  const hash = /Build completed: (\w+)/.exec(output)?.[1];
  if (hash === undefined) throw new Error(`The upload to ${ipfsUrl} has no result:\n${output}`);
  return hash;
}

async function run({ command, args, cwd, env }: Parameters<RunJob>[0]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd, env: { ...process.env, ...env } });
  return stdout;
}

function buildDir(folder: string): string {
  return join(ROOT, "subgraph", "build", folder);
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** The message for the user. A failed command has it in its output. */
function messageOf(error: unknown): string {
  if (error instanceof SubgraphAdminError) return error.message;
  const { stderr } = error as { stderr?: string };
  return stderr ?? (error instanceof Error ? error.message : String(error));
}
