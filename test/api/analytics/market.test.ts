// The market figures of stored deals. The chain and its time are real.
import { assert } from "chai";

import { Lease, leaseModel } from "../../../api/jobs/lease.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { KeptTally } from "../../../api/features/analytics/kept-tally.ts";
import { MarketRollup, MARKET_TIMINGS } from "../../../api/features/analytics/market-rollup.ts";
import type { MarketStep } from "../../../api/features/analytics/market-rollup.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { ALL_TIME, assertMarket, randomMarket, releasedDeal, storeMarket } from "../../fixtures/market.ts";
import type { StoredMarket } from "../../fixtures/market.ts";
import { readsOf } from "../../fixtures/profile.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/v1/analytics/market";
const WINDOWS = { "24h": 86_400, "7d": 604_800, "30d": 2_592_000, all: ALL_TIME };
const NETWORK = "base-sepolia";
/** Every step computes, as soon as a few times the duration of the last one has passed. */
const ALWAYS = { marketEveryMs: 0, marketPollMs: 5, marketLeaseMs: 10_000 };

describe("GET /api/v1/analytics/market", () => {
  let api: TestApi;
  let agent: TestAgent;
  beforeEach(async () => {
    api = await startTestApi({ timings: ALWAYS });
    agent = await api.registerAgent();
  });
  afterEach(() => api.close());

  const read = async (query = "") => {
    const { status, body, text } = await api.request("GET", `${PATH}${query}`, { key: agent.apiKey });
    assert.strictEqual(status, 200, text);
    return body.data;
  };
  const stepUntil = (wanted: MarketStep, network: "base" | "base-sepolia" = NETWORK, of = api) =>
    until(`a step is ${wanted}`, async () => (await of.container.features.analytics.market[network].step()) === wanted);
  const head = (network: "base" | "base-sepolia" = NETWORK) => api.container.chains[network].head();

  it("[D23] answers what random deals add up to, for each network, window and category", async () => {
    const random = seededRandom();
    const markets = new Map<string, { market: StoredMarket; block: { number: number; timestamp: number } }>();
    for (const network of ["base-sepolia", "base"] as const) {
      const block = await head(network);
      const market = randomMarket(random, block.timestamp, 2_500);
      await storeMarket(api, network, market, block.number);
      await stepUntil("computed", network);
      markets.set(network, { market, block });
    }
    for (const [window, seconds] of Object.entries(WINDOWS)) {
      const { networks, ...rest } = await read(`?window=${window}`);
      assert.deepEqual(rest, { window });
      assert.deepEqual(
        networks.map(({ network }: { network: string }) => network),
        ["base-sepolia", "base"],
      );
      for (const answered of networks) {
        const of = markets.get(answered.network);
        assert.ok(of !== undefined);
        const end = of.block.timestamp;
        assertMarket(answered, of.market, { end, seconds });
        assert.isAbove(answered.total.deals, 10);
        assert.isAbove(answered.total.excluded.deals, 10);
        assert.strictEqual(answered.indexedBlock, of.block.number);
        assert.strictEqual(Date.parse(answered.end), (end + 1) * 1_000);
        const length = answered.start === null ? ALL_TIME : Date.parse(answered.end) - Date.parse(answered.start);
        assert.strictEqual(length, seconds * 1_000);
      }
      const one = await read(`?window=${window}&network=base`);
      assert.deepEqual(one.networks, networks.slice(1));
    }
    assert.deepEqual(await read(), await read("?window=7d"));
  });

  it("[D58] two wallets that only trade with each other change no figure after their fourth deal", async () => {
    const { number, timestamp: end } = await head();
    const honest = [1_000_000n, 2_500_000n, 3_000_000n, 4_000_000n, 7_000_000n].map((value, n) =>
      releasedDeal(end, { value, seller: 20 + n }),
    );
    const first = Array.from({ length: 4 }, () => releasedDeal(end, { buyer: 8, seller: 9, settledAt: end - 101 }));
    await storeMarket(api, NETWORK, { deals: [...honest, ...first] }, number);
    await stepUntil("computed");
    const [before] = (await read()).networks;
    assert.deepInclude(before.total, { deals: 9, volumeUsd: "27.5", disputeRate: 0, medianDealUsd: "2.5" });
    assert.deepInclude(before.total, { medianSecondsToDeliver: 100, excluded: { deals: 0, volumeUsd: "0" } });

    const wash = Array.from({ length: 500 }, (_, n) =>
      releasedDeal(end, { buyer: 8 + (n % 2), seller: 9 - (n % 2), value: 900_000_000n, disputedAt: end - 120 }),
    );
    await storeMarket(api, NETWORK, { deals: wash }, number);
    await stepUntil("computed");
    const [after] = (await read()).networks;
    assert.deepEqual(after.total, { ...before.total, excluded: { deals: 500, volumeUsd: "450000" } });
    assert.deepEqual(after.categories, [{ category: "coding", ...after.total }]);
  });

  it("[D58] a pair's deals count again while they are at most half of what either of the two has ended", async () => {
    const { number, timestamp: end } = await head();
    const at = (settledAt: number, buyer: number, seller = 1) =>
      releasedDeal(end, { buyer, seller, settledAt: end - 200 + settledAt });
    // The fifth of wallet 1 is the third with wallet 0, the sixth is the third of six.
    const deals = [at(0, 0), at(1, 0), at(2, 2), at(3, 3), at(4, 0), at(5, 4), at(6, 0), at(7, 5), at(8, 0)];
    await storeMarket(api, NETWORK, { deals }, number);
    await stepUntil("computed");
    const { total } = (await read()).networks[0];
    assert.deepInclude(total, { deals: 6, excluded: { deals: 3, volumeUsd: "7.5" } });
  });

  it("[D58] adds what ended before the longest span to a tally once, and reads it no more", async () => {
    const { number, timestamp: end } = await head();
    const DAY = 86_400;
    const old = Array.from({ length: 1_200 }, (_, n) =>
      releasedDeal(end, { buyer: n % 50, seller: 50 + (n % 7), settledAt: end - 31 * DAY - (n % 900) }),
    );
    const recent = Array.from({ length: 6 }, (_, n) => releasedDeal(end, { buyer: n, seller: 50 + n }));
    const market = { deals: [...old, ...recent] };
    await storeMarket(api, NETWORK, market, number);
    await stepUntil("computed");
    const { connection, features } = api.container;
    const assertAll = async () => {
      assertMarket((await read("?window=all")).networks[0], market, { end, seconds: ALL_TIME });
    };
    await assertAll();
    const kept = await features.analytics.models.kept.tallies.find().lean();
    const reads = await readsOf(connection, "transactions", () => stepUntil("computed"));
    assert.isAtMost(Math.max(...reads.map(({ keys }) => keys)), recent.length + 1);
    assert.deepEqual(await features.analytics.models.kept.tallies.find().lean(), kept);
    await assertAll();
    assert.strictEqual((await read("?window=30d")).networks[0].total.deals, 6);
  });

  it("answers null for rates and medians of fewer than five deals", async () => {
    const { number, timestamp: end } = await head();
    const few = Array.from({ length: 4 }, (_, n) => releasedDeal(end, { category: "data", buyer: 10 + n }));
    const enough = Array.from({ length: 5 }, (_, n) => releasedDeal(end, { category: null, buyer: 20 + n }));
    await storeMarket(api, NETWORK, { deals: [...few, ...enough] }, number);
    await stepUntil("computed");
    const { categories } = (await read()).networks[0];
    const untold = { disputeRate: null, medianDealUsd: null, medianUnitPriceUsd: null };
    const times = { medianSecondsToDeliver: null, medianSecondsToRelease: null };
    assert.deepEqual(
      categories.map(({ category }: { category: string | null }) => category),
      [null, "data"],
    );
    assert.deepInclude(categories[1], { deals: 4, volumeUsd: "10", ...untold, ...times });
    assert.deepInclude(categories[0], { deals: 5, disputeRate: 0, medianDealUsd: "2.5", medianUnitPriceUsd: "2.5" });
  });

  it("[S7.02] answers 401 without a key, and leaves out networks without figures", async () => {
    assertError(await api.request("GET", PATH), 401, "invalid_api_key");
    assert.deepEqual(await read("?window=24h"), { window: "24h", networks: [] });
    await stepUntil("unreached");
    assert.deepEqual(await read(), { window: "7d", networks: [] });
  });

  it("is computed from an index and read by id, whatever is stored", async () => {
    const { number, timestamp: end } = await head();
    const market = randomMarket(seededRandom(), end, 2_100);
    await storeMarket(api, NETWORK, market, number);
    const { connection } = api.container;
    const reads = await readsOf(connection, "transactions", () => stepUntil("computed"));
    const ended = market.deals.filter(({ settledAt }) => settledAt !== null && settledAt <= end);
    assert.isNotEmpty(reads);
    for (const { documents } of reads) assert.strictEqual(documents, 0);
    // The profiler lists the first batch and each that follows.
    assert.isAtMost(Math.max(...reads.map(({ keys }) => keys)), ended.length + reads.length);
    const figures = await readsOf(connection, "market_figures", () => read());
    assert.deepEqual(
      figures.map(({ documents }) => documents),
      [1],
    );
  });

  it("counts towards the general limit", async () => {
    const limits = limitsWith();
    const limited = await startTestApi({
      env: { limits: { ...limits, rateLimits: { ...limits.rateLimits, general: 2 } } },
    });
    try {
      const { apiKey: key } = await limited.registerAgent();
      for (let call = 0; call < 2; call += 1) await limited.request("GET", PATH, { key });
      assertError(await limited.request("GET", PATH, { key }), 429, "rate_limit_exceeded");
    } finally {
      await limited.close();
    }
  });
});

describe("the workers that compute market figures", () => {
  const databaseName = `test_market_${process.pid}`;
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ databaseName, timings: { ...ALWAYS, marketEveryMs: 3_600_000 } });
  });
  after(() => api.close());

  const figures = () => api.container.features.analytics.models.figures;
  const releaseAll = () => leaseModel(api.container.connection).deleteMany({});
  const forget = async () => {
    await figures().deleteMany({});
    await releaseAll();
  };
  async function stored(): Promise<number> {
    const { number, timestamp: end } = await api.container.chains[NETWORK].head();
    const deals = Array.from({ length: 10 }, () => releasedDeal(end));
    await storeMarket(api, NETWORK, { deals }, number);
    return number;
  }

  it("compute once when several are at it, and not before the next computation is due", async () => {
    await stored();
    await forget();
    const others = await Promise.all(
      Array.from({ length: 3 }, () => startTestApi({ databaseName, timings: { ...ALWAYS, marketEveryMs: 3_600_000 } })),
    );
    try {
      const steps = await Promise.all(
        [api, ...others].map((one) => one.container.features.analytics.market[NETWORK].step()),
      );
      assert.deepEqual(steps.toSorted(), ["computed", "held", "held", "held"]);
      const [first] = await figures().find().lean();
      for (const one of others) {
        await releaseAll();
        assert.strictEqual(await one.container.features.analytics.market[NETWORK].step(), "not_due");
      }
      const [last] = await figures().find().lean();
      assert.deepEqual(last, first);
      assert.strictEqual(await figures().countDocuments(), 4);
    } finally {
      await Promise.all(others.map((one) => one.stop()));
    }
  });

  it("overwrite no newer figures after a pause, and give up when another has taken over", async () => {
    const number = await stored();
    const { connection, features, chains } = api.container;
    /** A worker that is paused after it has begun. */
    function paused(processId: string, onPause: () => Promise<unknown>) {
      return new MarketRollup({
        network: NETWORK,
        connection,
        figures: figures(),
        kept: features.analytics.models.kept,
        chain: {
          block: async (of) => {
            await onPause();
            return chains[NETWORK].block(of);
          },
        },
        transactions: features.transactions.models.transactions,
        reached: () => Promise.resolve(new Map([[NETWORK, number]])),
        lease: new Lease({ leases: leaseModel(connection), name: "test.market", owner: processId, ttlMs: 1 }),
        log: createLogger({ level: "silent", name: "test" }),
        timings: { ...MARKET_TIMINGS, marketEveryMs: 0 },
      });
    }
    await forget();
    const quick = paused("quick", () => Promise.resolve());
    const slow = paused("slow", () => until("the lease ends", async () => (await quick.step()) === "computed"));
    assert.strictEqual(await slow.step(), "overtaken");
    const [{ computedAt } = { computedAt: undefined }] = await figures().find().lean();
    assert.ok(computedAt !== undefined);

    await forget();
    const owner = new Lease({ leases: leaseModel(connection), name: "test.market", owner: "owner", ttlMs: 60_000 });
    const robbed = paused("robbed", () => until("the lease ends", () => owner.acquire()));
    const error = await robbed.step().then(
      (step) => assert.fail(step),
      (reason: unknown) => reason,
    );
    assert.strictEqual((error as Error).name, "LeaseLostError");
    assert.strictEqual(await figures().countDocuments(), 0);
  });

  it("compute nothing as of a block before the tally, so that no escrow counts twice", async () => {
    await stored();
    await forget();
    const { features, chains } = api.container;
    const { progress } = features.analytics.models.kept;
    const { timestamp: end } = await chains[NETWORK].head();
    await progress.replaceOne({ _id: NETWORK }, { through: end }, { upsert: true });
    assert.strictEqual(await features.analytics.market[NETWORK].step(), "overtaken");
    assert.strictEqual(await figures().countDocuments(), 0);
    await progress.deleteMany({ _id: NETWORK });
    assert.strictEqual(await features.analytics.market[NETWORK].step(), "computed");
  });

  it("add escrows to the tally once, when two are at it", async () => {
    const { connection, features } = api.container;
    const { kept } = features.analytics.models;
    const names = { buyerAddress: "0xa", sellerAddress: "0xb" };
    const times = { createdAt: 1, deliveredAt: 2, disputedAt: null, settledAt: 3 };
    const terms = {
      status: "released",
      category: "coding",
      quantity: 1,
      valueUsd: 7n,
      locked: 1n,
      sellerAmount: 1n,
    } as const;
    const tally = new KeptTally("base", connection, kept);
    for (const from of [0, 3]) {
      const absorb = () => tally.absorb([{ ...names, ...terms, ...times }], { from, to: from + 3 });
      const done = await Promise.all([absorb(), absorb()]);
      assert.sameMembers(done, [true, false]);
      assert.strictEqual(await tally.through(), from + 3);
    }
    assert.strictEqual((await tally.tallies()).get("coding")?.figures().released, 2);
    const counts = await kept.counts.find({ _id: /^base:/ }).lean();
    assert.sameDeepMembers(
      counts,
      ["0xa", "0xb", "0xa:0xb"].map((id) => ({ _id: `base:${id}`, ended: 2 })),
    );
  });

  it("stop in the middle when they are told to", async () => {
    await stored();
    await forget();
    const rollup = api.container.features.analytics.market[NETWORK];
    assert.strictEqual(await rollup.step(AbortSignal.abort()), "stopped");
    assert.strictEqual(await figures().countDocuments(), 0);
  });
});
