// A worker that is killed at each write while it computes market figures.
import { assert } from "chai";

import { leaseModel } from "../../../api/jobs/lease.ts";
import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { ALL_TIME, assertMarket, randomMarket, storeMarket } from "../../fixtures/market.ts";
import { seededRandom } from "../../fixtures/random.ts";

const PATH = "/api/v1/analytics/market";
const WINDOWS = { "24h": 86_400, "7d": 604_800, "30d": 2_592_000, all: ALL_TIME };
const NETWORK = "base-sepolia";
const DEALS = 1_200;
/** Every step computes. */
const ALWAYS = { marketEveryMs: 0, marketPollMs: 5, marketLeaseMs: 10_000 };

describe("a worker that is killed at a write while it computes market figures", () => {
  const databaseName = `test_market_failpoints_${process.pid}`;
  const options = { databaseName, timings: ALWAYS, oneProcess: "the kills are between this process and its database" };
  let route: FaultyRoute;
  let api: TestApi;
  /** Computes, and is killed. */
  let victim: TestApi;
  before(async () => {
    route = await faultyDatabase((await readStack()).mongodbUri);
    api = await startTestApi(options);
    victim = await startTestApi({ ...options, env: { mongodbUri: route.url } });
  });
  after(async () => {
    await victim.stop();
    await api.close();
    await route.close();
  });

  it("leaves whole figures or none, and the next one goes on", async () => {
    const { container } = api;
    const { figures, kept } = container.features.analytics.models;
    const { apiKey: key } = await api.registerAgent();
    const block = await container.chains[NETWORK].head();
    const market = randomMarket(seededRandom(), block.timestamp, DEALS);
    await storeMarket(api, NETWORK, market, block.number);
    async function assertWhole(what: string): Promise<void> {
      const records = await figures.find().lean();
      assert.strictEqual(new Set(records.map(({ computedAt }) => computedAt.getTime())).size, 1, what);
      for (const [window, seconds] of Object.entries(WINDOWS)) {
        const { body } = await api.request("GET", `${PATH}?window=${window}&network=${NETWORK}`, { key });
        assertMarket(body.data.networks[0], market, { end: block.timestamp, seconds });
      }
    }
    /** As after the lease of the killed worker. */
    const endLeases = () => leaseModel(container.connection).deleteMany({});
    await killAtEachWrite({
      route,
      prepare: () =>
        Promise.all([
          figures.deleteMany({}),
          kept.tallies.deleteMany({}),
          kept.counts.deleteMany({}),
          kept.progress.deleteMany({}),
          endLeases(),
        ]),
      work: () => victim.container.features.analytics.market[NETWORK].step(),
      async finish(what) {
        if ((await figures.countDocuments()) > 0) await assertWhole(what);
        // Otherwise the next computation isn't due.
        await figures.deleteMany({});
        await endLeases();
        assert.strictEqual(await container.features.analytics.market[NETWORK].step(), "computed", what);
        await assertWhole(what);
      },
    });
  });
});
