// The market figures of deals that are settled on the shared chain, from their events to the answer.
import { readFileSync } from "node:fs";

import { assert } from "chai";

import type { StackFacts } from "../../../scripts/local/facts.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";
import { Marketplace } from "../../subgraph/support/marketplace.ts";

const BUYERS = 8;
const WASH_DEALS = 4;

describe("the market figures of real deals", () => {
  let api: TestApi;
  let marketplace: Marketplace;
  let washers: [TestAgent, TestAgent];
  before(async () => {
    const timings = { marketEveryMs: 0, marketPollMs: 20, marketLeaseMs: 10_000 };
    api = await startTestApi({ timings, runsLoops: true });
    const facts = readFileSync(process.env["TEST_STACK"] ?? "", "utf8");
    marketplace = new Marketplace(JSON.parse(facts) as StackFacts, "base-sepolia");
    washers = [await api.registerAgent(), await api.registerAgent()];
  });
  after(() => api.close());

  it("[D23] count a connected seller's deals by category, and not those of two wallets with each other", async () => {
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
    const declined = await marketplace.createEscrow(one.account, market.seller.account);
    await marketplace.confirmed(marketplace.escrowAs(market.seller.account).write.refund([declined.id]));

    const networks = await until("all deals are in the figures", async () => {
      const { body } = await api.request("GET", "/api/v1/analytics/market?window=24h&network=base-sepolia", {
        key: one.apiKey,
      });
      const [found] = body.data.networks;
      const isWhole = found?.total.refunded === 1 && found.total.deals === BUYERS + 1;
      return isWhole && found.total.excluded.deals === WASH_DEALS && body.data.networks;
    });
    assert.lengthOf(networks, 1);
    const [{ network, total, categories, indexedBlock, end, computedAt }] = networks;
    assert.strictEqual(network, "base-sepolia");
    assert.deepInclude(total, {
      ...{ released: BUYERS + 1, resolved: 0, abandoned: 0, volumeUsd: "29", disputed: 0, disputeRate: 0 },
      ...{ medianDealUsd: "3", medianUnitPriceUsd: "3", excluded: { deals: WASH_DEALS, volumeUsd: "36" } },
    });
    assert.isNumber(total.medianSecondsToDeliver);
    assert.isNumber(total.medianSecondsToRelease);
    const [without, checkedOut] = categories;
    assert.deepInclude(without, { category: null, deals: BUYERS, refunded: 1, volumeUsd: "24", medianDealUsd: "3" });
    const untold = { disputeRate: null, medianDealUsd: null, medianSecondsToRelease: null };
    assert.deepInclude(checkedOut, { category: "risk_assessment", deals: 1, volumeUsd: "5", ...untold });
    assert.lengthOf(categories, 2);
    const block = await api.container.chains["base-sepolia"].block(indexedBlock);
    assert.strictEqual(Date.parse(end), ((block?.timestamp ?? 0) + 1) * 1_000);
    assert.isAtMost(Math.abs(Date.parse(computedAt) - Date.now()), 60_000);
  });
});
