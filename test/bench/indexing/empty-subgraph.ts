import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Deployment } from "../../../deploy/system/deployment-file.ts";
import { ROOT, SCRIPTS } from "../../../scripts/local/paths.ts";
import { buildSubgraphProject } from "../../../scripts/local/subgraph-build.ts";
import type { RunJob } from "../../../scripts/local/supervisor.ts";

/**
 * The mappings that a manifest names, with handlers that do nothing.
 * @returns sources by their paths in the manifest, such as `./src/mappings/escrow.ts`
 */
export function emptyMappings(manifest: string): Map<string, string> {
  const handlers = new Map<string, string[]>();
  let file = "";
  for (const line of manifest.split("\n")) {
    file = /^\s+file: (\.\/src\/\S+\.ts)$/.exec(line)?.[1] ?? file;
    const handler = /^\s+(?:- )?handler: (\w+)$/.exec(line)?.[1];
    if (handler !== undefined) handlers.set(file, [...(handlers.get(file) ?? []), handler]);
  }
  return new Map(
    [...handlers].map(([path, names]) => {
      const functions = names.map((name) => `export function ${name}(_event: ethereum.Event): void {}\n`);
      return [path, ['import { ethereum } from "@graphprotocol/graph-ts";\n', ...functions].join("\n")];
    }),
  );
}

/**
 * Compiles a subgraph with the manifest, schema and events of the marketplace's and handlers that do nothing.
 * @returns the folder with the compiled subgraph
 */
export async function buildEmptySubgraph(deployment: Deployment, run: RunJob): Promise<string> {
  // Inside the checkout, where the compiler finds its library.
  const dir = join(ROOT, "subgraph", "build", "bench-empty");
  await buildSubgraphProject(deployment, dir, run);
  for (const [path, source] of emptyMappings(readFileSync(join(dir, "subgraph.yaml"), "utf8"))) {
    writeFileSync(join(dir, path), source);
  }
  await run({
    ...{ name: "subgraph-build-empty", command: process.execPath, args: [SCRIPTS.graph, "build"], cwd: dir },
    env: { GRAPH_SKIP_NEW_VERSION_CHECK: "true" },
  });
  return join(dir, "build");
}
