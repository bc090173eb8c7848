import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { StackFacts } from "../../../scripts/local/facts.ts";
import { findFreePorts } from "../../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../../scripts/local/stack-ports.ts";
import { startStack } from "../../../scripts/local/stack.ts";

/** Chains and a MongoDB that a bench has for itself. */
export interface BenchStack {
  mongodbUri: string;
  stop(): Promise<void>;
}

/** Starts a new stack in `dir`, which the fixtures of this process use from then on. */
export async function startBenchStack(dir: string): Promise<BenchStack> {
  const portBase = await findFreePorts(PORTS_PER_STACK);
  const stack = await startStack({ dir, portBase, only: ["chains", "mongo"], fresh: true });
  process.env["TEST_STACK"] = writeFacts(stack.facts, dir);
  const { mongodbUri = "" } = stack.facts;
  return { mongodbUri, stop: () => stack.stop() };
}

/** The address of one database of a MongoDB. */
export function addressOf(databaseName: string, mongodbUri: string): string {
  const uri = new URL(mongodbUri);
  uri.pathname = databaseName;
  return uri.href;
}

/** Nothing that is measured there reads a subgraph, so nothing listens at its address. Returns the file. */
function writeFacts({ networks, ...facts }: StackFacts, dir: string): string {
  const withSubgraph = Object.entries(networks).map(([name, network]) => [
    name,
    { ...network, subgraphUrl: "http://127.0.0.1:9/" },
  ]);
  const path = join(dir, "bench.json");
  writeFileSync(path, JSON.stringify({ ...facts, networks: Object.fromEntries(withSubgraph) as unknown }));
  return path;
}
