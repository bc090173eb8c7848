import { delaysOf } from "../events/summary.ts";
import { paced } from "../events/pace.ts";
import { IndexingStack } from "./indexing-stack.ts";
import { LiveDeals, MOVES } from "./live-deals.ts";
import type { SeenMove } from "./live-deals.ts";
import type { IndexingBench, PartResult } from "./part.ts";

/** Pairs of agents for each deal a second: a key may make twenty checkouts a minute. */
const PAIRS_PER_RATE = 4;

/** Sums moves up: each figure over all of them, and block to state and event for each kind. */
export function summaryOf(moves: readonly SeenMove[]) {
  const by = (figure: "toSubgraphMs" | "toStateMs" | "toEventMs", of: readonly SeenMove[] = moves) =>
    delaysOf(of.flatMap((move) => move[figure] ?? []));
  return {
    blockToSubgraph: by("toSubgraphMs"),
    blockToState: by("toStateMs"),
    blockToEvent: by("toEventMs"),
    byMove: Object.fromEntries(
      MOVES.map((name) => {
        const of = moves.filter(({ move }) => move === name);
        return [name, { blockToState: by("toStateMs", of), blockToEvent: by("toEventMs", of) }];
      }),
    ),
  };
}

/** From a block to its state in the API and to its event in MongoDB, at a steady rate of deals. */
export async function measureLive(bench: IndexingBench): Promise<PartResult> {
  const { deals, rate, say } = bench;
  say("live: starting chains, graph-node, MongoDB, API and worker");
  const stack = await IndexingStack.start(bench.dir);
  try {
    await stack.startGraph();
    await stack.startService();
    const live = await LiveDeals.open(stack, Math.ceil(rate * PAIRS_PER_RATE));
    say(`live: ${deals} deals, ${rate} a second`);
    const moves: SeenMove[] = [];
    const readings: number[] = [];
    const reached = await paced(deals, rate, async (index) => {
      const settled = await live.settle(index);
      moves.push(...settled.moves);
      readings.push(settled.readAgainMs);
    });
    await live.close();
    return {
      deals,
      dealsPerSecond: reached,
      ...summaryOf(moves),
      floor: {
        /** Read of the block from the node, when it has just announced it. */
        nodeRead: delaysOf(live.blocks.readMs),
        /** Read of a released deal from the API: nothing to wait for. */
        apiRead: delaysOf(readings),
      },
      faults: moves.length === deals * MOVES.length ? [] : [`${moves.length} moves of ${deals} deals were seen`],
    };
  } finally {
    await stack.stop();
  }
}
