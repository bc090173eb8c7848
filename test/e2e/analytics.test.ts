// Moves the clock by hours and counts every deal of a network, so it starts a stack of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { findFreePorts } from "../../scripts/local/ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import type { Stack } from "../../scripts/local/stack.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, openMarket } from "../fixtures/deals.ts";
import { openChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";
import { Marketplace } from "../subgraph/support/marketplace.ts";

const HOUR_SECONDS = 3_600;
const BUYERS = 8;
/** Of two wallets with each other; the first four count. */
const WASH_DEALS = 6;
const COUNTED_WASH_DEALS = 4;

describe("the analytics of real deals", () => {
  let dir: string;
  let stack: Stack;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "marketplace-analytics-"));
    const portBase = await findFreePorts(PORTS_PER_STACK);
    stack = await startStack({ dir, portBase, only: ["graph", "mongo"], disposable: true });
    process.env["TEST_STACK"] = stack.factsPath;
  });
  after(async () => {
    await stack.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  describe("hourly series", () => {
    let market: Marketplace;
    let api: TestApi;
    let seller: TestAgent;
    before(async () => {
      market = new Marketplace(stack.facts, "base");
      api = await startTestApi();
      seller = await api.registerAgent();
      await (await openChain("base")).endow(seller.account);
    });
    after(() => api.close());

    async function nextHour(): Promise<void> {
      const now = await market.timeOf();
      await market.passTime(HOUR_SECONDS - (now % HOUR_SECONDS) + 1);
    }
    const read = async (query: string) => {
      const path = `/api/v1/analytics/fractal?network=base&length=4&${query}`;
      const { status, body, text } = await api.request("GET", path, { key: seller.apiKey });
      assert.strictEqual(status, 200, text);
      return body.data.series as number[];
    };

    it("[S4.r33] [D30] have each hour that has ended, those without deals included", async () => {
      const [buyer, other] = [await market.newParty(), await market.newParty()];
      await nextHour();
      await market.createReleased(buyer, seller.account, { amount: 5_000_000n });
      await market.createReleased(buyer, other, { amount: 3_000_001n });
      await nextHour();
      await nextHour();
      await market.createReleased(buyer, seller.account, { amount: 2_500_000n });
      await nextHour();
      // Belongs to an hour that hasn't ended.
      await market.createReleased(buyer, seller.account, { amount: 9_000_000n });
      const height = Number(await market.client.getBlockNumber());
      await until("it is indexed", async () => (await api.container.indexers.base.head()).number >= height);
      assert.deepEqual(await read("metric=volume&scope=all"), [0, 8.000001, 0, 2.5]);
      assert.deepEqual(await read("metric=volume&scope=me"), [0, 5, 0, 2.5]);
      assert.deepEqual(await read("metric=escrows&scope=all"), [0, 2, 0, 1]);
      assert.deepEqual(await read("metric=escrows&scope=me"), [0, 1, 0, 1]);
      assert.deepEqual(await read("metric=score&scope=all"), [0, 4, 0, 2]);
      assert.deepEqual(await read("metric=score&scope=me"), [0, 1, 0, 1]);
    });
  });

  describe("market figures", () => {
    let api: TestApi;
    let marketplace: Marketplace;
    let washers: [TestAgent, TestAgent];
    before(async () => {
      const timings = { marketEveryMs: 0, marketPollMs: 20, marketLeaseMs: 10_000 };
      api = await startTestApi({ timings, runsLoops: true });
      marketplace = new Marketplace(stack.facts, "base-sepolia");
      washers = [await api.registerAgent(), await api.registerAgent()];
    });
    after(() => api.close());

    it("count a seller's deals by category, and of two wallets with each other the first four alone", async () => {
      const chain = await openChain("base-sepolia");
      const market = await openMarket(api, chain, { price: 2.5, category: "risk_assessment" });
      const { transactionId } = await fundedDeal(market, { quantity: 2 });
      await deliverDeal(market, transactionId);
      await act(api, chain, market.buyer, transactionId, "accept");
      for (let buyer = 0; buyer < BUYERS; buyer += 1) {
        await marketplace.createReleased(await marketplace.newParty(), market.seller.account, { amount: 3_000_000n });
      }
      const [one, other] = washers;
      for (const { account } of washers) await chain.endow(account, { usdc: 100_000_000n });
      for (const { account } of washers) await marketplace.allow(account);
      for (let deal = 0; deal < WASH_DEALS; deal += 1) {
        const [buyer, seller] = deal % 2 === 0 ? [one, other] : [other, one];
        await marketplace.createReleased(buyer.account, seller.account, { amount: 9_000_000n });
      }
      // Of what ends in the same second, declined jobs come first and would count against the fourth deal.
      await marketplace.passTime(1);
      const declined = await marketplace.createEscrow(one.account, market.seller.account);
      await marketplace.confirmed(marketplace.escrowAs(market.seller.account).write.refund([declined.id]));

      const networks = await until("all deals are in the figures", async () => {
        const { body } = await api.request("GET", "/api/v1/analytics/market?window=24h&network=base-sepolia", {
          key: one.apiKey,
        });
        const [found] = body.data.networks;
        const isWhole = found?.total.refunded === 1 && found.total.deals === BUYERS + 1 + COUNTED_WASH_DEALS;
        return isWhole && found.total.excluded.deals === WASH_DEALS - COUNTED_WASH_DEALS && body.data.networks;
      });
      assert.lengthOf(networks, 1);
      const [{ network, total, categories, indexedBlock, end, computedAt }] = networks;
      assert.strictEqual(network, "base-sepolia");
      assert.deepInclude(total, {
        released: BUYERS + 1 + COUNTED_WASH_DEALS,
        resolved: 0,
        abandoned: 0,
        volumeUsd: "65",
        disputed: 0,
        disputeRate: 0,
        medianDealUsd: "3",
        medianUnitPriceUsd: "3",
        excluded: { deals: WASH_DEALS - COUNTED_WASH_DEALS, volumeUsd: "18" },
      });
      assert.isNumber(total.medianSecondsToDeliver);
      assert.isNumber(total.medianSecondsToRelease);
      const [without, checkedOut] = categories;
      assert.deepInclude(without, {
        category: null,
        deals: BUYERS + COUNTED_WASH_DEALS,
        refunded: 1,
        volumeUsd: "60",
        medianDealUsd: "3",
      });
      const untold = { disputeRate: null, medianDealUsd: null, medianSecondsToRelease: null };
      assert.deepInclude(checkedOut, { category: "risk_assessment", deals: 1, volumeUsd: "5", ...untold });
      assert.lengthOf(categories, 2);
      const block = await api.container.chains["base-sepolia"].block(indexedBlock);
      assert.strictEqual(Date.parse(end), ((block?.timestamp ?? 0) + 1) * 1_000);
      assert.isAtMost(Math.abs(Date.parse(computedAt) - Date.now()), 60_000);
    });
  });
});
