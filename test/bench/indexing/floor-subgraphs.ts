import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Deployment } from "../../../deploy/system/deployment-file.ts";
import { ROOT, SCRIPTS } from "../../../scripts/local/paths.ts";
import { buildSubgraphProject } from "../../../scripts/local/subgraph-build.ts";
import type { RunJob } from "../../../scripts/local/supervisor.ts";

/** What the handlers of a floor do: nothing, or store one row for each event, as the least that a subgraph is good for. */
export const FLOORS = ["empty", "row"] as const;
export type Floor = (typeof FLOORS)[number];

const IMPORTS: Readonly<Record<Floor, string>> = {
  empty: 'import { ethereum } from "@graphprotocol/graph-ts";\n',
  row: `import { ethereum } from "@graphprotocol/graph-ts";

import { EscrowEvent } from "../../generated/schema";
import { logId, ordinalOf } from "../ids";

function store(event: ethereum.Event): void {
  const move = new EscrowEvent(logId(event));
  move.ordinal = ordinalOf(event);
  move.type = "EscrowCreated";
  move.escrow = event.transaction.hash;
  move.escrowId = event.transaction.hash;
  move.buyer = event.transaction.from;
  move.seller = event.transaction.from;
  move.token = event.address;
  move.blockNumber = event.block.number;
  move.blockHash = event.block.hash;
  move.logIndex = event.logIndex;
  move.txHash = event.transaction.hash;
  move.timestamp = event.block.timestamp;
  move.save();
}
`,
};

const handlerOf = (floor: Floor, name: string): string =>
  floor === "empty"
    ? `export function ${name}(_event: ethereum.Event): void {}\n`
    : `export function ${name}(event: ethereum.Event): void {\n  store(event);\n}\n`;

/**
 * The mappings that a manifest names, with handlers that do as little as a floor does.
 * @returns sources by their paths in the manifest, such as `./src/mappings/escrow.ts`
 */
export function floorMappings(manifest: string, floor: Floor): Map<string, string> {
  const handlers = new Map<string, string[]>();
  let file = "";
  for (const line of manifest.split("\n")) {
    file = /^\s+file: (\.\/src\/\S+\.ts)$/.exec(line)?.[1] ?? file;
    const handler = /^\s+(?:- )?handler: (\w+)$/.exec(line)?.[1];
    if (handler !== undefined) handlers.set(file, [...(handlers.get(file) ?? []), handler]);
  }
  return new Map(
    [...handlers].map(([path, names]) => {
      return [path, [IMPORTS[floor], ...names.map((name) => handlerOf(floor, name))].join("\n")];
    }),
  );
}

/**
 * Compiles a subgraph with the manifest, schema and events of the marketplace's and the handlers of a floor.
 * @returns the folder with the compiled subgraph
 */
export async function buildFloorSubgraph(floor: Floor, deployment: Deployment, run: RunJob): Promise<string> {
  // Inside the checkout, where the compiler finds its library.
  const dir = join(ROOT, "subgraph", "build", `bench-${floor}`);
  await buildSubgraphProject(deployment, dir, run);
  for (const [path, source] of floorMappings(readFileSync(join(dir, "subgraph.yaml"), "utf8"), floor)) {
    writeFileSync(join(dir, path), source);
  }
  await run({
    name: `subgraph-build-${floor}`,
    command: process.execPath,
    args: [SCRIPTS.graph, "build"],
    cwd: dir,
    env: { GRAPH_SKIP_NEW_VERSION_CHECK: "true" },
  });
  return join(dir, "build");
}
