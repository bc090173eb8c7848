import { assert } from "chai";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, createEscrow, deliverDeal, fund, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("an agent's trust record", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let reader: TestAgent;

  before(async () => {
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
    reader = await api.registerAgent();
  });
  after(() => api.close());

  const pathOf = ({ agentId }: TestAgent) => `/api/v1/agents/${agentId}/trust`;
  const read = (agent: TestAgent, query = "") => api.request("GET", pathOf(agent) + query, { key: reader.apiKey });

  async function settle(quantity: number): Promise<void> {
    const { transactionId } = await fundedDeal(market, { quantity });
    await deliverDeal(market, transactionId);
    await act(api, chain, market.buyer, transactionId, "accept");
  }

  describe("happy", () => {
    it("[S2.8.07] [D20] of a new agent is empty, and shows its KYA status", async () => {
      const { body } = await read(reader);
      const { indexedBlock, ...data } = body.data;
      assert.ok(indexedBlock > 0);
      assert.deepEqual(data, {
        agentId: reader.agentId,
        walletAddress: reader.walletAddress,
        network: "base-sepolia",
        kya: { level: 0, name: "Unverified", maxJobValueUsd: 1_000 },
        onChainScore: 0,
        scores: { "base-sepolia": 0, base: 0 },
        discoveryScore: 0,
        escrows: { asBuyer: 0, asSeller: 0 },
        outcomes: {
          released: 0,
          settled: 0,
          disputesWon: 0,
          disputesLost: 0,
          disputesSplit: 0,
          abandoned: 0,
          declined: 0,
          lateDeclines: 0,
          earlyDeclines: 0,
        },

        earlyDeclineShare: 0,
        distinctCounterparties: 0,
        topCounterpartyShare: 0,
        medianDealUsd: null,
        settledVolumeUsd: "0",
        scoreHistory: [],
      });
      assert.strictEqual(body.nextCursor, null);
      const { agents } = api.container.features.agents.models;
      await agents.updateOne({ _id: reader.agentId }, { kyaLevel: 3 });
      const { kya } = (await read(reader)).body.data;
      assert.deepEqual(kya, { level: 3, name: "Audited", maxJobValueUsd: null });
    });

    it("[D20] counts what settled, and has the score's history newest first, page by page", async () => {
      for (const quantity of [1, 3, 2]) await settle(quantity);
      const declined = await checkOut(market);
      const { transactionHash } = await createEscrow(market, declined);
      await fund(market, declined, transactionHash);
      await act(api, chain, market.seller, declined.transactionId, "refund");

      const data = await until("every settlement is counted", async () => {
        const { body } = await read(market.seller);
        // The subgraph counts all declines, and this service's copies those before the deadline.
        const { declined: all, earlyDeclines } = body.data.outcomes;
        return all === 1 && earlyDeclines === 1 && body.data;
      });
      assert.deepEqual(
        [data.onChainScore, data.scores["base-sepolia"], data.discoveryScore, data.escrows],
        [3, 3, 0.03, { asBuyer: 0, asSeller: 4 }],
      );
      assert.deepEqual(data.outcomes, {
        released: 3,
        settled: 3,
        disputesWon: 0,
        disputesLost: 0,
        disputesSplit: 0,
        abandoned: 0,
        declined: 1,
        lateDeclines: 0,
        earlyDeclines: 1,
      });
      assert.deepEqual(
        [data.distinctCounterparties, data.topCounterpartyShare, data.medianDealUsd, data.settledVolumeUsd],
        [1, 1, "5", "15"],
      );
      assert.deepEqual(
        (data.scoreHistory as { outcome: string; delta: number; score: number }[]).map((change) => [
          ...[change.outcome, change.delta, change.score],
        ]),
        [
          ["Released", 1, 3],
          ["Released", 1, 2],
          ["Released", 1, 1],
        ],
      );

      const first = (await read(market.seller, "?limit=2")).body;
      const second = (await read(market.seller, `?limit=2&cursor=${first.nextCursor}`)).body;
      assert.deepEqual([...first.data.scoreHistory, ...second.data.scoreHistory], data.scoreHistory);
      assert.strictEqual(second.nextCursor, null);
    });

    it("has the buyer's deals too: a median of an even number of deals is the mean of the middle ones", async () => {
      await settle(4);
      const data = await until("the subgraph has the settlement", async () => {
        const { body } = await read(market.buyer);
        return body.data.outcomes.settled === 4 && body.data;
      });
      assert.deepEqual([data.medianDealUsd, data.settledVolumeUsd, data.outcomes.released], ["6.25", "0", 0]);
    });

    it("is that of the network asked for", async () => {
      const { data } = (await read(market.seller, "?network=base")).body;
      assert.deepEqual([data.network, data.onChainScore, data.scoreHistory], ["base", 0, []]);
    });
  });

  describe("errors", () => {
    it("an unknown agent is 404; a wrong network, limit or cursor is named", async () => {
      assertError(await api.request("GET", "/api/v1/agents/agt_x/trust", { key: reader.apiKey }), 404, "not_found");
      assertInvalid(await read(reader, "?network=polygon&limit=0&x=1"), "query.network", "query.limit", "query.x");
      const cursorOf = (position: unknown) => Buffer.from(JSON.stringify(position)).toString("base64url");
      for (const position of [
        { before: "1" },
        { network: "base", before: "1" },
        { network: "base-sepolia", before: 1 },
      ]) {
        assertInvalid(await read(reader, `?cursor=${cursorOf(position)}`), "query.cursor");
      }
    });
  });

  describe("security", () => {
    it("a cursor of another agent shows nothing of that agent", async () => {
      const { nextCursor } = (await read(market.seller, "?limit=1")).body;
      assert.deepEqual((await read(reader, `?cursor=${nextCursor}`)).body.data.scoreHistory, []);
    });
  });
});
