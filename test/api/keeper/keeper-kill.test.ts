// Keepers that are killed at random while they finalize: two at a time, each soon after its start.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";
import { parseEther } from "viem";

import { readStack } from "../../fixtures/api.ts";
import { KEEPER_TEST_TIMINGS, KeeperBench } from "../../fixtures/keeper.ts";
import type { KeeperProcessOptions } from "../../fixtures/keeper-process.ts";
import { untilRuns } from "../../fixtures/processes.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { NETWORK } from "../../fixtures/rulings.ts";
import { until } from "../../fixtures/until.ts";

const DEALS = 12;
const WORKERS = 2;
const KILLS = 12;
/** Life of a keeper once it runs. */
const LIFE_MS = { min: 50, max: 1_200 };
/** Pause between blocks. */
const MINING_MS = 60;
const PATIENCE_MS = 240_000;

describe("keepers that are killed", () => {
  const random = seededRandom();
  const done = new AbortController();
  let bench: KeeperBench;
  let kills = 0;
  let startedMs = 0;
  let running: Promise<void>[] = [];

  before(async () => {
    bench = await KeeperBench.open();
  });
  after(async () => {
    done.abort();
    await Promise.all(running);
    await bench.close();
  });

  async function start(): Promise<ChildProcess> {
    const { chain, records, key } = bench;
    const aheadMs = records.clock.getTime() - startedMs;
    const options: KeeperProcessOptions = {
      mongodbUri: (await readStack()).mongodbUri,
      databaseName: records.connection.name,
      privateKey: key,
      capWei: String(parseEther("1")),
      aheadMs,
      rpcUrls: { "base-sepolia": chain.rpcUrl, base: chain.rpcUrl },
      deployments: { "base-sepolia": chain.deployment, base: chain.deployment },
      timings: {
        keeperPollMs: 20,
        keeperSending: {
          ...KEEPER_TEST_TIMINGS,
          leaseMs: 300,
          pollMs: 20,
          watchMs: 20,
          maxInFlight: 3,
          // However long a loaded machine takes, no fee is raised: each escrow has one signature.
          bumpAfterMs: 3_600_000,
          retry: { minMs: 20, maxMs: 20 },
        },
      },
    };
    const args = ["test/fixtures/keeper-process.ts", JSON.stringify(options, asText)];
    return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  }

  /** Keeps one keeper running, and kills each after a random time; after the last kill it may finish its work. */
  async function killKeepers(): Promise<void> {
    while (!done.signal.aborted) {
      const victim = await start();
      await untilRuns(victim);
      const lifeMs = kills < KILLS ? LIFE_MS.min + random() * (LIFE_MS.max - LIFE_MS.min) : PATIENCE_MS;
      await sleep(lifeMs, undefined, { signal: done.signal }).catch(() => undefined);
      victim.kill("SIGKILL");
      if (victim.exitCode === null && victim.signalCode === null) await once(victim, "exit");
      kills += 1;
    }
  }

  async function mineBlocks(): Promise<void> {
    while (!done.signal.aborted) {
      await bench.chain.mine();
      await sleep(MINING_MS);
    }
  }

  it("finalize each escrow by exactly one transaction, and pay for no other", async () => {
    const escrowIds: `0x${string}`[] = [];
    for (let deal = 0; deal < DEALS; deal += 1) escrowIds.push((await bench.delivered()).escrowId);
    await bench.pass(3_601);
    startedMs = Date.now();
    await bench.chain.client.setAutomine(false);
    running = [mineBlocks(), ...Array.from({ length: WORKERS }, killKeepers)];

    await until(
      "all are final",
      async () => (await bench.models.orders.countDocuments({ state: "final" })) === DEALS && kills >= KILLS,
      PATIENCE_MS,
    );
    done.abort();
    await Promise.all(running);

    for (const escrowId of escrowIds) {
      const { txHash, attempts } = await bench.order(escrowId);
      assert.lengthOf(attempts, 1);
      const releases = await bench.releasesOf(escrowId);
      assert.deepEqual(releases, [{ txHash: txHash ?? "0x", automatic: true, from: bench.wallet }]);
    }
    assert.strictEqual(await bench.chain.client.getTransactionCount({ address: bench.wallet }), DEALS);
    await bench.setClock();
    const { spentTodayWei, waiting } = await bench.keeper().state(NETWORK);
    assert.strictEqual(waiting, 0);
    assert.strictEqual(BigInt(spentTodayWei), await bench.paidWei());
  }).timeout(PATIENCE_MS * 2);
});

const asText = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
