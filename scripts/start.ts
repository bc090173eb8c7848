// `npm start`: runs the whole marketplace on loopback.
import { join, relative } from "node:path";

import { portNumber, readArguments, refuseArguments } from "./command/arguments.ts";
import type { StackFacts } from "./local/facts.ts";
import { ROOT } from "./local/paths.ts";
import { SERVICES } from "./local/services.ts";
import { PORTS_PER_STACK } from "./local/stack-ports.ts";
import { startStack } from "./local/stack.ts";
import { StackStoppedError } from "./local/supervisor.ts";

const HELP = `usage: npm start -- [--agents] [--fresh] [--port-base N] [--only SERVICES] [--dir DIR]

Starts both chains with the contracts, the subgraph, MongoDB, the API and its worker, and resumes where the last run
stopped. Ctrl-C stops everything. All services listen on loopback except graph-node, which can't be bound to one address.
  --agents           also start scripted buyers and sellers to practise with; they need all services
  --fresh            start from scratch: removes the data of earlier runs
  --port-base N      use the ports from N instead of 3000 (API, or PORT), 8545, 8546 (chains) and 8547 to 8559
  --only SERVICES    start only these and what they need, separated by commas: ${SERVICES.join(", ")}
  --dir DIR          keep data, logs and stack.json there (default .local)
  --json             print the facts of the running stack as one JSON object instead of the summary
  --help             this text
Environment: PORT and PUBLIC_URL of the API, MONGODB_URI (a replica set to use instead of the stack's own), NODE_ENV,
WEBHOOK_SIGNING_SECRET (else one of the stack's own), WEBHOOK_ALLOW_PRIVATE_HOSTS (else 127.0.0.1),
METRICS_PORT of the API (the worker's is the next one); with --only api,worker also RPC_URL_BASE_SEPOLIA, RPC_URL_BASE,
SUBGRAPH_URL_BASE_SEPOLIA, SUBGRAPH_URL_BASE, DEPLOYMENT_BASE_SEPOLIA, DEPLOYMENT_BASE. API and worker also read the other variables of docs/operating/configuration.md. An empty variable counts as unset.`;

const startedAt = performance.now();

function log(line: string): void {
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6);
  process.stderr.write(`${seconds} s  ${line.replaceAll("\n", "\n          ")}\n`);
}

function summary(facts: StackFacts, factsPath: string): string {
  const lines: [string, string][] = [];
  if (facts.api !== undefined)
    lines.push(["Web page", `${facts.api}/`], ["API", facts.api], ["API docs", facts.apiDocs ?? ""]);
  for (const [network, { rpcUrl, chainId }] of Object.entries(facts.networks)) {
    lines.push([`Chain ${network}`, `${rpcUrl} (chain id ${chainId})`]);
  }
  if (facts.graphql !== undefined) lines.push(["GraphQL", facts.graphql]);
  for (const [network, { escrow, score, resolver, tokens, subgraphUrl }] of Object.entries(facts.networks)) {
    if (subgraphUrl !== undefined) lines.push([`  ${network}`, subgraphUrl]);
    lines.push([`Contracts on ${network}`, `escrow ${escrow ?? ""}`], ["", `score ${score ?? ""}`]);
    lines.push(["", `resolver ${resolver ?? ""}`]);
    for (const [symbol, address] of Object.entries(tokens)) lines.push(["", `${symbol} ${address}`]);
  }
  if (facts.mongodbUri !== undefined) lines.push(["MongoDB", facts.mongodbUri]);
  if (Object.keys(facts.networks).length > 0) {
    lines.push(["Test wallets", "funded with ETH and tokens on both chains; these keys are public knowledge"]);
    for (const { address, privateKey } of facts.accounts) lines.push(["", `${address}  ${privateKey}`]);
  }
  lines.push(["All of this as JSON", relative(process.cwd(), factsPath)]);
  return lines.map(([name, value]) => `${name.padEnd(26)}${value}`).join("\n");
}

const { values } = readArguments(HELP, {
  agents: { type: "boolean" },
  fresh: { type: "boolean" },
  "port-base": { type: "string" },
  only: { type: "string" },
  dir: { type: "string", default: join(ROOT, ".local") },
  json: { type: "boolean" },
});

if (values.agents === true && values.only !== undefined)
  refuseArguments("--agents needs all services, so it goes without --only.");

const portBase = values["port-base"];
const apiPort = process.env["PORT"] ?? "";

const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    if (interruption.signal.aborted) return;
    log(`${signal}: ending all services`);
    interruption.abort();
  });
}
const interrupted = new Promise<void>((resolve) => {
  interruption.signal.addEventListener("abort", () => {
    resolve();
  });
});

try {
  const stack = await startStack({
    dir: values.dir,
    portBase: portBase === undefined ? undefined : portNumber("--port-base", portBase, PORTS_PER_STACK),
    apiPort: apiPort === "" ? undefined : portNumber("PORT", apiPort),
    only: values.only?.split(",").map((name) => name.trim()),
    fresh: values.fresh,
    agents: values.agents,
    contracts: "deployed",
    log,
    signal: interruption.signal,
  });
  log("ready");
  process.stdout.write(
    values.json === true ? `${JSON.stringify(stack.facts)}\n` : `\n${summary(stack.facts, stack.factsPath)}\n\n`,
  );
  // The stack has reported the failure and stopped the other services.
  const failed = stack.failure.catch(() => 1);
  const exitCode = await Promise.race([interrupted.then(() => 0), failed]);
  await stack.stop();
  log("all services have ended");
  process.exit(exitCode);
} catch (error) {
  if (error instanceof StackStoppedError) {
    log("all services have ended");
    process.exit(130);
  }
  log(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
