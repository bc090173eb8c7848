import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { StackFacts } from "../../../scripts/local/facts.ts";

/** Writes the facts of a stack whose subgraph nothing measured reads: nothing listens at its address. Returns the file. */
export function writeBenchFacts({ networks, ...facts }: StackFacts, dir: string): string {
  const withSubgraph = Object.entries(networks).map(([name, network]) => [
    name,
    { ...network, subgraphUrl: "http://127.0.0.1:9/" },
  ]);
  const path = join(dir, "bench.json");
  writeFileSync(path, JSON.stringify({ ...facts, networks: Object.fromEntries(withSubgraph) as unknown }));
  return path;
}
