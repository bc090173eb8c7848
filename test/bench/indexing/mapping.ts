import { cpSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { createSubgraph, deploySubgraph } from "../../../scripts/local/subgraph-admin.ts";
import { openChain } from "../../fixtures/stack.ts";
import { percentile } from "../follower/floor.ts";
import { buildFloorSubgraph } from "./floor-subgraphs.ts";
import { IndexingStack, NETWORK } from "./indexing-stack.ts";
import { countEvents, MinedDeals } from "./mined-deals.ts";
import type { IndexingBench, PartResult } from "./part.ts";

/** Blocks of two seconds at thirty deals a second. */
const DEALS_PER_BLOCK = 60;
const SECONDS_PER_BLOCK = 2;
const PAIRS = 10;
/** How often each of the three is indexed, after a first time that fills graph-node's cache of blocks. */
const ROUNDS = 3;
const POLL_MS = 10;
const PATIENCE_MS = 600_000;

/** The latest block that a deployed subgraph has indexed; undefined until it has begun. */
async function indexedBlock(url: string): Promise<number | undefined> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "{ _meta { block { number } hasIndexingErrors } }" }),
  });
  const { data } = (await response.json()) as {
    data?: { _meta: { block: { number: number }; hasIndexingErrors: boolean } | null } | null;
  };
  if (data?._meta?.hasIndexingErrors === true) throw new Error(`the subgraph of ${url} has failed`);
  return data?._meta?.block.number;
}

/** Deploys a compiled subgraph, and returns the seconds from its first indexed block to `head`. */
async function secondsToIndex(stack: IndexingStack, name: string, folder: string, head: number): Promise<number> {
  const admin = { url: `http://127.0.0.1:${stack.ports.graph[NETWORK].admin}` };
  await createSubgraph(admin, name);
  await deploySubgraph(admin, name, join(folder, "subgraph.yaml"), "1");
  const url = `http://127.0.0.1:${stack.ports.graph[NETWORK].http}/subgraphs/name/${name}`;
  const giveUpAt = performance.now() + PATIENCE_MS;
  let startedAt: number | undefined;
  for (;;) {
    const block = await indexedBlock(url);
    if (block !== undefined) startedAt ??= performance.now();
    if (startedAt !== undefined && block !== undefined && block >= head) return (performance.now() - startedAt) / 1_000;
    if (performance.now() > giveUpAt) throw new Error(`${name} has not indexed block ${head}, only ${block ?? "none"}`);
    await sleep(POLL_MS);
  }
}

/**
 * Events a second with our mappings, compared on the same events with handlers that do nothing, and with handlers that store one
 * row for each event.
 */
export async function measureMapping(bench: IndexingBench): Promise<PartResult> {
  const { mappedDeals, say } = bench;
  say("mapping: starting a chain and Postgres");
  const stack = await IndexingStack.start(bench.dir);
  try {
    stack.writeFacts();
    const chain = await openChain(NETWORK);
    const deals = await MinedDeals.open(chain, PAIRS);
    const before = await chain.client.getBlockNumber({ cacheTime: 0 });
    say(`mapping: mining ${mappedDeals} deals`);
    const startedAt = performance.now();
    await deals.mine(await deals.plan(mappedDeals), { perBlock: DEALS_PER_BLOCK, secondsPerBlock: SECONDS_PER_BLOCK });
    const miningSeconds = (performance.now() - startedAt) / 1_000;
    const head = await chain.client.getBlockNumber({ cacheTime: 0 });
    const events = await countEvents(chain, before, head);
    const sources = {
      empty: await buildFloorSubgraph("empty", stack.deployments[NETWORK], stack.run),
      row: await buildFloorSubgraph("row", stack.deployments[NETWORK], stack.run),
      ours: dirname(stack.manifestOf(NETWORK)),
    };
    await stack.startGraph([NETWORK], false);
    const seconds: Record<keyof typeof sources, number[]> = { empty: [], row: [], ours: [] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const kind of ["empty", "row", "ours"] as const) {
        // A deployment's identity is its path.
        const folder = resolve(bench.dir, `${kind}-${round}`);
        cpSync(sources[kind], folder, { recursive: true });
        const taken = await secondsToIndex(stack, `bench/${kind}-${round}`, folder, Number(head));
        say(`mapping: ${kind} ${taken.toFixed(1)} s${round === 0 ? ", with an empty cache of blocks" : ""}`);
        if (round > 0) seconds[kind].push(taken);
      }
    }
    const rate = (kind: keyof typeof sources) => events / percentile(seconds[kind], 0.5);
    const [ours, floor, row] = [rate("ours"), rate("empty"), rate("row")];
    return {
      deals: mappedDeals,
      blocks: Number(head - before),
      events,
      miningSeconds,
      seconds,
      /** Medians of the rounds. */
      eventsPerSecond: ours,
      floor: { eventsPerSecond: floor },
      perFloor: ours / floor,
      /** Handlers that store one row for each event. */
      oneRow: { eventsPerSecond: row, perFloor: row / floor },
      faults: [],
    };
  } finally {
    await stack.stop();
  }
}
