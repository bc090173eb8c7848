// Random deals on both chains, while the stack's processes are killed and the chains reorganised at random.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";

import { RESOLUTION_TIMEOUT_SECONDS, NETWORKS } from "../../api/config/constants.ts";
import type { Network } from "../../api/config/constants.ts";
import type { StackFacts } from "../../scripts/local/facts.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { atNight, campaignSize } from "../fixtures/nightly.ts";
import { seededRandom } from "../fixtures/random.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";
import {
  eventDifferences,
  listDifferences,
  readChain,
  subgraphDifferences,
  subgraphHead,
} from "./support/equal-sides.ts";
import type { ChainSide, Disagreement } from "./support/equal-sides.ts";
import { beginDeal, moveOn, newPair } from "./support/random-deals.ts";
import type { Pair, RandomDeal } from "./support/random-deals.ts";
import { ALL_AT_ONCE, isOnDisk, noProcessLeft, StackProcess, THE_STACK_ITSELF } from "./support/stack-process.ts";

const SECONDS = campaignSize({
  unit: "seconds of deals while the stack's processes are killed",
  nightly: 600,
  eachPush: 30,
  variable: "STACK_KILL_SECONDS",
});
const PAIRS = 4;
const VICTIMS = [
  "graph-base-sepolia",
  "graph-base",
  "postgres",
  "mongo",
  "chain-base-sepolia",
  "chain-base",
  "api",
  "worker",
  ALL_AT_ONCE,
  THE_STACK_ITSELF,
];
/** Longest pauses, in milliseconds: from a start to the next kill, between reorganisations, and of a party. */
const UNTIL_KILL_MS = atNight(12_000, 8_000);
const UNTIL_REORGANISATION_MS = 5_000;
const PAUSE_MS = 600;
const DEEPEST = 60;
/** Blocks by which a new branch is longer than the old one. */
const AHEAD = 2;
/** How long everything may take to become equal on a loaded machine. */
const PATIENCE_MS = 240_000;
const DAY_SECONDS = 86_400;
/** `gnd` takes blocks that are deeper below the head for final, so a subgraph must be nearer when they are removed. */
const FINAL_BELOW = 10;
/** Ten minutes of deals cost the keeper more than a day's cap, and the parties more calls than their limits. */
const VARIABLES = {
  KEEPER_DAILY_CAP_WEI_BASE_SEPOLIA: String(10n ** 18n),
  KEEPER_DAILY_CAP_WEI_BASE: String(10n ** 18n),
  ...Object.fromEntries(
    ["CHECKOUT", "FUND", "DELIVER", "CONFIRM", "DISPUTE", "GENERAL"].map((limit) => [`RATE_LIMIT_${limit}`, "1000000"]),
  ),
};
/** After the longest deadline, abandonment grace and dispute of the deals. */
const ALL_OVER_SECONDS = RESOLUTION_TIMEOUT_SECONDS + DAY_SECONDS;

describe("deals in every ending, through kills and reorganisations", () => {
  const random = seededRandom();
  const dir = mkdtempSync(join(tmpdir(), "marketplace-random-kills-"));
  const ending = new AbortController();
  const killed = new Map<string, number>();
  const depths: number[] = [];
  /** Deals that their parties have left where they wanted them. */
  let rested = 0;
  let portBase: number;
  let stack: StackProcess;
  let facts: StackFacts;
  let chains: Record<Network, TestChain>;
  let pairs: Pair[];
  /** Blocks that no reorganisation removes: those before the parties had their money, and before the last start. */
  let floors: Record<Network, number>;

  const start = async (): Promise<void> => {
    stack = new StackProcess(dir, ["--port-base", String(portBase)], VARIABLES);
    facts = await stack.ready();
  };
  const heightOf = async (network: Network) => Number(await chains[network].client.getBlockNumber({ cacheTime: 0 }));
  const raiseFloors = async () => {
    floors = { "base-sepolia": await heightOf("base-sepolia"), base: await heightOf("base") };
  };

  before(async () => {
    portBase = await findFreePorts(PORTS_PER_STACK);
    await start();
    process.env["TEST_STACK"] = join(dir, "stack.json");
    chains = { "base-sepolia": await openChain("base-sepolia"), base: await openChain("base") };
    pairs = [];
    for (let made = 0; made < PAIRS; made += 1) pairs.push(await newPair(facts.api ?? "", chains));
    await raiseFloors();
    // A kill may cost a chain its last seconds, but not the parties' money.
    for (const network of NETWORKS) await isOnDisk(dir, network, BigInt(floors[network]));
  });
  after(async () => {
    ending.abort();
    stack.interrupt();
    await stack.ended;
    rmSync(dir, { recursive: true, force: true });
  });

  const pause = (atMostMs: number) =>
    sleep(random() * atMostMs, undefined, { signal: ending.signal }).catch(() => undefined);

  /** Deals one after the other. Whatever a move meets, it is tried again from what the chain then says. */
  async function trade(pair: Pair): Promise<void> {
    let current: RandomDeal | undefined;
    while (!ending.signal.aborted) {
      try {
        current ??= await beginDeal(pair, random);
        if (await moveOn(current)) {
          current = undefined;
          rested += 1;
        }
      } catch {
        // The stack is down, a transaction was lost, or a service can't know of it yet.
      }
      await pause(PAUSE_MS);
    }
  }

  /** Removes the last blocks of a chain and mines a longer branch. */
  async function reorganise(network: Network): Promise<void> {
    const head = await heightOf(network);
    const depth = Math.min(1 + Math.floor(random() * DEEPEST), head - floors[network] - 1);
    const indexed = await subgraphHead(facts.networks[network]?.subgraphUrl ?? "").catch(() => undefined);
    if (depth < 1 || indexed === undefined || indexed < head - FINAL_BELOW) return;
    await chains[network].rollBackTo(head - depth);
    await chains[network].client.mine({ blocks: depth + AHEAD });
    depths.push(depth);
  }

  async function reorganiseUntil(killAt: number): Promise<void> {
    while (Date.now() < killAt && !ending.signal.aborted) {
      await pause(UNTIL_REORGANISATION_MS);
      const network = NETWORKS[Math.floor(random() * NETWORKS.length)];
      if (network !== undefined) await reorganise(network);
    }
  }

  async function killAndStartAgain(): Promise<void> {
    const victim = VICTIMS[Math.floor(random() * VICTIMS.length)];
    assert.ok(victim !== undefined);
    killed.set(victim, (killed.get(victim) ?? 0) + 1);
    stack.kill(victim);
    await stack.ended;
    await stack.allEnded();
    await noProcessLeft(dir);
    await start();
    // A chain that was started again has no states of the blocks before.
    await raiseFloors();
  }

  /** What nobody agrees about, across chains, subgraphs, lists and event logs. */
  async function disagreements(): Promise<Disagreement[]> {
    const sides: Record<string, ChainSide> = {};
    const found: Disagreement[] = [];
    for (const network of NETWORKS) {
      const side = await readChain(chains[network]);
      sides[network] = side;
      found.push(...(await subgraphDifferences(chains[network], facts.networks[network]?.subgraphUrl ?? "", side)));
    }
    for (const { buyer, seller } of pairs) {
      for (const [role, party] of [
        ["buyer", buyer],
        ["seller", seller],
      ] as const) {
        // An agent's lists and log have both networks.
        found.push(...(await listDifferences(party.base, sides)));
        found.push(...(await eventDifferences(party.base, role, sides)));
      }
    }
    return found;
  }

  async function allAgree(): Promise<void> {
    let last: Disagreement[] = [];
    await until(
      "all sides agree",
      async () => {
        last = await disagreements().catch((error: unknown) => [String(error)]);
        return last.length === 0;
      },
      PATIENCE_MS,
    ).catch(() => undefined);
    assert.deepEqual(last, []);
  }

  const dealsOf = (...endings: RandomDeal["ending"][]) =>
    pairs.flatMap(({ deals }) => deals).filter((deal) => endings.includes(deal.ending));
  const stateOf = async ({ deal }: RandomDeal) => (await deal.escrow.get(deal.terms.escrowId)).state;

  /** Makes the moves of a deal until it rests. */
  async function restDeal(deal: RandomDeal): Promise<void> {
    let reason: unknown;
    const attempt = async () => {
      try {
        return await moveOn(deal);
      } catch (error) {
        reason = error;
        return false;
      }
    };
    await until(`${deal.ending} of ${deal.deal.transactionId} rests`, attempt, PATIENCE_MS).catch(
      (timeout: unknown) => {
        throw new Error(String(timeout), { cause: reason });
      },
    );
  }

  it("[D15] [D37] go on until they are told to end", async function () {
    this.timeout(SECONDS * 1_000 + PATIENCE_MS);
    const trading = Promise.all(pairs.map(trade));
    const endAt = Date.now() + SECONDS * 1_000;
    const isEnough = () => Date.now() >= endAt && depths.length > 0 && rested >= PAIRS;
    while (!isEnough()) {
      await reorganiseUntil(Date.now() + random() * UNTIL_KILL_MS);
      await killAndStartAgain();
    }
    ending.abort();
    await trading;
    console.log(`killed: ${[...killed].map(([victim, times]) => `${victim} ${times}`).join(", ")}`);
    console.log(`reorganisations: ${depths.length}, depths ${depths.join(" ")}`);
    console.log(`deals: ${pairs.reduce((sum, { deals }) => sum + deals.length, 0)}`);
  });

  it("[D15] [D37] and all sides agree: contracts, subgraphs, lists, and logs with each event once or withdrawn", async function () {
    this.timeout(2 * PATIENCE_MS);
    await Promise.all(
      pairs.map(async ({ deals }) => {
        for (const deal of deals) await restDeal(deal);
      }),
    );
    await allAgree();
  });

  it("[S3.2.20] and the keeper ends what can be ended once its time has come", async function () {
    this.timeout(3 * PATIENCE_MS);
    for (const network of NETWORKS) {
      const { timestamp } = await chains[network].client.getBlock();
      await chains[network].moveClockTo(Number(timestamp) + ALL_OVER_SECONDS);
    }
    const ended = { finalize: "Released", dispute: "Resolved", overdue: "Delivered" } as const;
    for (const deal of dealsOf("finalize", "dispute")) {
      const expected = ended[deal.ending as "finalize" | "dispute"];
      const hasEnded = async () => (await stateOf(deal)) === expected;
      await until(`${deal.ending}: ${expected}`, hasEnded, PATIENCE_MS).catch(async (timeout: unknown) => {
        throw new Error(`${String(timeout)}: ${deal.network} ${deal.deal.terms.escrowId} is ${await stateOf(deal)}`);
      });
    }
    for (const { deal } of dealsOf("abandon")) {
      await deal.escrow.move("claimAbandoned", deal.terms.escrowId);
    }
    // Without a payload, the keeper leaves a deal to its parties.
    for (const deal of dealsOf("overdue")) assert.strictEqual(await stateOf(deal), ended.overdue);
    await allAgree();
  });
});
