import { assert } from "chai";

import type { NETWORKS } from "../../../api/config/constants.ts";
import { TIMINGS } from "../../../api/features.ts";
import { IndexerBehindError } from "../../../api/indexer/errors.ts";
import { createIndexer } from "../../../api/indexer/indexer-client.ts";
import type { Indexer } from "../../../api/indexer/indexer-client.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { checkOut, createEscrow, openMarket } from "../../fixtures/deals.ts";
import { doorTo } from "../../fixtures/outage.ts";
import type { Door } from "../../fixtures/outage.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("a subgraph that lags or is unavailable", () => {
  let api: TestApi;
  let door: Door;
  /** While true, the subgraph is behind every escrow: it has none, and reports that for each requested block. */
  let isBehind = false;

  before(async () => {
    const stack = await readStack();
    door = await doorTo(stack.networks["base-sepolia"].subgraphUrl);
    const lagging = (network: (typeof NETWORKS)[number]): Indexer => {
      const url = network === "base-sepolia" ? door.url : stack.networks[network].subgraphUrl;
      const real = createIndexer({ network, url, attempts: 2 });
      return {
        ...real,
        async escrows(ids, at = {}) {
          if (!isBehind) return real.escrows(ids, at);
          if ((at.minBlock ?? 0) > 0) throw new IndexerBehindError(network, 1, at.minBlock ?? 0);
          return { block: await real.head(), escrows: new Map() };
        },
      };
    };
    api = await startTestApi({
      indexers: { "base-sepolia": lagging("base-sepolia"), base: lagging("base") },
      timings: { indexWaitMs: TIMINGS.indexWaitMs },
    });
  });
  after(async () => {
    await api.close();
    await door.close();
  });

  it("[D16] makes fund answer 202 with pending_funding and Retry-After, then 200 once it has caught up", async () => {
    assert.strictEqual(TIMINGS.indexWaitMs, 10_000);
    const market = await openMarket(api, await openChain("base-sepolia"));
    const checkout = await checkOut(market);
    const { transactionHash } = await createEscrow(market, checkout);
    const fund = () =>
      api.request("POST", checkout.paymentInstructions.fundEndpoint, {
        key: market.buyer.apiKey,
        body: { txHash: transactionHash },
      });
    isBehind = true;
    const early = await fund();
    assert.deepEqual([early.status, early.body.data.status], [202, "pending_funding"], early.text);
    assert.match(early.headers.get("retry-after") ?? "", /^\d+$/);
    // The receipt is known, so an older state isn't shown as current.
    const path = `/api/v1/transactions/${checkout.transactionId}`;
    const read = await api.request("GET", path, { key: market.buyer.apiKey });
    assertError(read, 503, "indexer_unavailable");
    isBehind = false;
    const later = await fund();
    assert.deepEqual([later.status, later.body.data.status], [200, "funded"]);
  });

  it("[D16] makes an expired checkout wait for its funding again, with 202 pending_funding", async () => {
    const market = await openMarket(api, await openChain("base-sepolia"));
    const checkout = await checkOut(market);
    const { transactionHash } = await createEscrow(market, checkout);
    const { transactions } = api.container.features.transactions.models;
    await transactions.updateOne({ _id: checkout.transactionId }, { status: "expired", expiredBy: "quote" });
    isBehind = true;
    const answer = await api.request("POST", checkout.paymentInstructions.fundEndpoint, {
      key: market.buyer.apiKey,
      body: { txHash: transactionHash },
    });
    isBehind = false;
    const { status, expiredBy } = answer.body.data;
    assert.deepEqual([answer.status, status, expiredBy], [202, "pending_funding", null], answer.text);
  });

  it("[D41] withdraws nothing that the parties have been shown", async () => {
    const market = await openMarket(api, await openChain("base-sepolia"));
    const checkout = await checkOut(market);
    const path = `/api/v1/transactions/${checkout.transactionId}`;
    const read = (agent: { apiKey: string }) => api.request("GET", path, { key: agent.apiKey });
    isBehind = true;
    assert.strictEqual((await read(market.buyer)).body.data.status, "pending_funding");
    isBehind = false;
    // Nobody calls fund, so the state is known only from the chain.
    await createEscrow(market, checkout);
    const { chainFollower, transactions } = api.container.features;
    await until("the escrow has been followed", async () => {
      await chainFollower.followers["base-sepolia"].step();
      return (await transactions.models.transactions.findById(checkout.transactionId).lean())?.status === "funded";
    });
    isBehind = true;
    assertError(await read(market.buyer), 503, "indexer_unavailable");
    assertError(await read(market.seller), 503, "indexer_unavailable");
    isBehind = false;
    assert.strictEqual((await read(market.seller)).body.data.status, "funded");
  });

  it("answers 503 with Retry-After while it is unreachable, and works afterwards", async () => {
    const market = await openMarket(api, await openChain("base-sepolia"));
    const { transactionId } = await checkOut(market);
    const read = () => api.request("GET", `/api/v1/transactions/${transactionId}`, { key: market.buyer.apiKey });
    door.isOpen = false;
    const refused = await read();
    assertError(refused, 503, "indexer_unavailable");
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    door.isOpen = true;
    assert.strictEqual((await read()).status, 200);
  });
});
