// Who may buy a high-value job (specification 2.8, 5.8 and 7, decision 32).
import { assert } from "chai";

import type { KyaLevel } from "../../../api/config/constants.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { checkOut, createEscrow, fund, listService, ONE_USDC } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { paymentMethodBody } from "../../fixtures/statements.ts";

/** From this score on, the chain sets no cap. */
const UNCAPPED_SCORE = 100;

describe("high-value jobs", () => {
  let api: TestApi;
  let chain: TestChain;
  let buyer: TestAgent;
  let seller: TestAgent;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    [buyer, seller] = await Promise.all([api.registerAgent(), api.registerAgent()]);
    await chain.endow(buyer.account, { usdc: 100_000n * ONE_USDC });
    await chain.raiseScore(buyer.walletAddress, UNCAPPED_SCORE);
    await chain.raiseScore(seller.walletAddress, UNCAPPED_SCORE);
  });
  after(() => api.close());

  async function setLevel(kyaLevel: KyaLevel): Promise<void> {
    await api.container.features.agents.models.agents.updateOne({ _id: buyer.agentId }, { kyaLevel });
  }

  async function order(price: number): Promise<Answer> {
    const serviceId = await listService(api, seller, { price });
    const body = { serviceId, paymentMethod: "usdc" };
    return api.request("POST", "/api/v1/checkout", { key: buyer.apiKey, body });
  }

  async function assertOpen(price: number): Promise<void> {
    const answer = await order(price);
    assert.strictEqual(answer.status, 200, answer.text);
  }

  async function assertClosed(price: number, requiredLevel: KyaLevel): Promise<void> {
    const answer = await order(price);
    assertError(answer, 403, "agent_not_verified");
    assert.strictEqual(answer.body.error, "Agent not verified for this operation");
    assert.strictEqual(answer.body.details.requiredLevel, requiredLevel);
    assert.strictEqual(answer.body.details.valueDollars, String(price));
  }

  it("[D32] takes nothing away from level 0: a job of $1,000 is open", async () => {
    await setLevel(0);
    await assertOpen(999.999999);
    await assertOpen(1_000);
  });

  it("[S7.19] above $1,000 an unverified buyer is refused with 403 and the specification's text", async () => {
    await setLevel(0);
    await assertClosed(1_000.000001, 2);
  });

  it("[S2.8.02] level 1, Basic, opens none of them", async () => {
    await setLevel(1);
    await assertOpen(1_000);
    await assertClosed(1_000.000001, 2);
  });

  it("[S2.8.04] level 2, Verified, opens escrows of up to $10,000, from checkout to the funded deal", async () => {
    await setLevel(0);
    const link = { key: buyer.apiKey, body: await paymentMethodBody(buyer, chain) };
    assert.strictEqual((await api.request("POST", "/api/v1/agents/kya/payment-method", link)).status, 200);
    await assertOpen(9_999.999999);
    await assertOpen(10_000);
    await assertClosed(10_000.000001, 3);

    const serviceId = await listService(api, seller, { price: 1_000.000001 });
    const market = { api, chain, buyer, seller, serviceId };
    const checkout = await checkOut(market);
    const { transactionHash } = await createEscrow(market, checkout);
    assert.strictEqual((await fund(market, checkout, transactionHash)).body.data.status, "funded");
  });

  it("[S2.8.06] level 3, Audited, has the limits of an enterprise: none but the chain's", async () => {
    await setLevel(3);
    await assertOpen(10_000.000001);
    await assertOpen(90_000);
  });

  it("asks for the buyer's level alone: the seller of these jobs is level 0", async () => {
    const record = await api.container.features.agents.models.agents.findById(seller.agentId).lean();
    assert.strictEqual(record?.kyaLevel, 0);
  });
});
