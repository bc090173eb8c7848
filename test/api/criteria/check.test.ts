import { assert } from "chai";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { checkOut, deliverDeal, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import { changesNothing } from "../../fixtures/stored.ts";
import { until } from "../../fixtures/until.ts";

const criteria = {
  schema: { type: "object", required: ["summary", "risks"], properties: { risks: { type: "array", minItems: 2 } } },
  checks: ["cel: words(result.summary) >= 3", "Names the contract's owner"],
};
const GOOD = { summary: "The owner can pause", risks: ["pause", "upgrade"] };
const BAD = { summary: "Fine", risks: ["pause", "upgrade"] };

interface Item {
  name?: string;
  text?: string;
  result: string;
}
const byName = (items: Item[]) => Object.fromEntries(items.map(({ name, text, result }) => [name ?? text, result]));

describe("a check before money moves", () => {
  let api: TestApi;
  let market: Market;
  let stranger: TestAgent;
  let deal: CheckoutData;

  before(async () => {
    api = await startTestApi();
    market = await openMarket(api, await openChain("base-sepolia"));
    stranger = await api.registerAgent();
    deal = await fundedDeal(market, { criteria });
  });
  after(() => api.close());

  const check = (agent: TestAgent, body: object = {}, { transactionId } = deal) =>
    api.request("POST", `/api/v1/transactions/${transactionId}/check`, { key: agent.apiKey, body });
  /** Delivers on chain and waits until the buyer may read the payload. */
  const deliver = async (checkout: CheckoutData, payload: object) => {
    await deliverDeal(market, checkout.transactionId, payload);
    await until("the delivery is indexed", async () => (await check(market.buyer, {}, checkout)).status === 200);
  };

  describe("by the seller", () => {
    it("[D45] tries any payload before the delivery, and stores nothing", () =>
      changesNothing(api, [deal.transactionId], async () => {
        const good = await check(market.seller, { responsePayload: GOOD });
        assert.strictEqual(good.status, 200, good.text);
        assert.deepEqual(byName(good.body.data.facts), { schema_matches: "pass" });
        assert.deepEqual(byName(good.body.data.checks), {
          "cel: words(result.summary) >= 3": "pass",
          "Names the contract's owner": "open",
        });
        assert.strictEqual(good.body.data.result, "open");

        const bad = (await check(market.seller, { responsePayload: BAD })).body.data;
        assert.deepEqual([bad.checks[0].result, bad.result], ["fail", "fail"]);
        const other = (await check(market.seller, { responsePayload: { summary: "a b c" } })).body.data;
        assert.strictEqual(byName(other.facts)["schema_matches"], "fail");
        assert.include(other.facts[0].detail, "risks");
      }));

    it("[D45] needs a payload while none has been submitted", async () => {
      assertInvalid(await check(market.seller), "body.responsePayload");
    });

    it("[D45] passes when every part is decided by code and holds", async () => {
      const decided = await fundedDeal(market, { criteria: { ...criteria, checks: [criteria.checks[0]] } });
      const { body } = await check(market.seller, { responsePayload: GOOD }, decided);
      assert.strictEqual(body.data.result, "pass");
    });
  });

  describe("by the buyer", () => {
    it("[D45] [D17] sees nothing of a payload that isn't delivered on chain", async () => {
      const early = await fundedDeal(market, { criteria });
      await api.request("POST", `/api/v1/transactions/${early.transactionId}/deliver`, {
        key: market.seller.apiKey,
        body: { responsePayload: GOOD },
      });
      assertError(await check(market.buyer, {}, early), 409, "escrow_state_conflict");
    });

    it("[D45] [D26] checks the delivered payload and how it was handed over", async () => {
      const delivered = await fundedDeal(market, { criteria });
      await deliver(delivered, BAD);
      const { body } = await check(market.buyer, {}, delivered);
      assert.deepEqual(byName(body.data.facts), {
        payload_in_time: "pass",
        proof_matches: "pass",
        schema_matches: "pass",
      });
      assert.strictEqual(body.data.result, "fail");
      const again = await check(market.seller, { responsePayload: GOOD }, delivered);
      assertError(again, 409, "escrow_state_conflict");
      assert.isAtLeast(again.body.details.indexedBlock, body.data.indexedBlock);
      const bySeller = (await check(market.seller, {}, delivered)).body.data;
      assert.isAtLeast(bySeller.indexedBlock, body.data.indexedBlock);
      assert.deepEqual({ ...bySeller, indexedBlock: body.data.indexedBlock }, body.data);
    });

    it("[D45] can't try a payload of its own", async () => {
      assertError(await check(market.buyer, { responsePayload: GOOD }), 403, "wrong_role");
    });
  });

  it("[D15] [D33] doesn't exist for a stranger, and is closed to the seller before the funding", async () => {
    assertError(await check(stranger, { responsePayload: GOOD }), 404, "not_found");
    const pending = await checkOut(market, { criteria });
    assertError(await check(market.seller, { responsePayload: GOOD }, pending), 409, "transaction_not_funded");
    assertError(await check(market.buyer, {}, pending), 409, "escrow_state_conflict");
  });

  it("evaluates hostile payloads as data", async () => {
    const hostile = JSON.parse('{"summary": "a b c", "risks": [1, 2], "constructor": 1, "toString": {}}') as object;
    const { status, body } = await check(market.seller, { responsePayload: hostile });
    assert.deepEqual([status, body.data.facts[0].result], [200, "pass"]);
  });
});
