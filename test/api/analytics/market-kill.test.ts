import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import { ALL_TIME, assertMarket, randomMarket, storeMarket } from "../../fixtures/market.ts";
import type { MarketProcessOptions } from "../../fixtures/market-process.ts";
import { campaignSize } from "../../fixtures/nightly.ts";
import { untilRuns } from "../../fixtures/processes.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/v1/analytics/market";
const WINDOWS = { "24h": 86_400, "7d": 604_800, "30d": 2_592_000, all: ALL_TIME };
const NETWORK = "base-sepolia";
/** Every step computes. */
const ALWAYS = { marketEveryMs: 0, marketPollMs: 5, marketLeaseMs: 10_000 };

describe("workers that are killed while they compute market figures", () => {
  const KILLS = campaignSize({
    unit: "times that market workers are killed",
    nightly: 100,
    eachPush: 3,
    variable: "MARKET_KILLS",
  });
  const LONGEST_LIFE_MS = 600;
  const DEALS = 6_000;

  it("leave whole figures or none, and the next one goes on", async () => {
    const random = seededRandom();
    const databaseName = `test_market_kill_${process.pid}`;
    const api = await startTestApi({ databaseName, timings: ALWAYS });
    const options: MarketProcessOptions = { databaseName, leaseMs: 200 };
    const start = () =>
      spawn(process.execPath, ["test/fixtures/market-process.ts", JSON.stringify(options)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
    const end = async (victim: ChildProcess) => {
      victim.kill("SIGKILL");
      if (victim.exitCode === null && victim.signalCode === null) await once(victim, "exit");
    };
    const { figures } = api.container.features.analytics.models;
    const { apiKey: key } = await api.registerAgent();
    const block = await api.container.chains[NETWORK].head();
    const market = randomMarket(random, block.timestamp, DEALS);
    await storeMarket(api, NETWORK, market, block.number);
    const assertWhole = async (): Promise<boolean> => {
      const records = await figures.find().lean();
      if (records.length === 0) return false;
      assert.lengthOf(records, 4);
      assert.lengthOf([...new Set(records.map(({ computedAt }) => computedAt.getTime()))], 1);
      for (const [window, seconds] of Object.entries(WINDOWS)) {
        const { body } = await api.request("GET", `${PATH}?window=${window}&network=${NETWORK}`, { key });
        assertMarket(body.data.networks[0], market, { end: block.timestamp, seconds });
      }
      return true;
    };
    try {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const victims = [start(), start()];
        await Promise.all(victims.map(untilRuns));
        await sleep(random() * LONGEST_LIFE_MS);
        await Promise.all(victims.map(end));
        if (await assertWhole()) await figures.deleteMany({});
      }
      await figures.deleteMany({});
      const last = start();
      await until("the next worker has computed", async () => (await figures.countDocuments()) === 4);
      await end(last);
      assert.ok(await assertWhole());
    } finally {
      await api.close();
    }
  }).timeout(3_600_000);
});
