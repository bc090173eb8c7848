// Repeats of a paid call that was answered "not yet".
import { assert } from "chai";

import { loadEnv } from "../../../api/config/env.ts";
import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { fundedDeal, ONE_USDC, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { testVariables } from "../../fixtures/environment.ts";
import { CALL_UNITS, gasKey, headerV1, paymentSettings, signTransfer } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("a paid call with an Idempotency-Key that was answered 202", () => {
  const x402 = paymentSettings("base-sepolia");
  let api: TestApi;
  /** The same service for callers without a budget. */
  let broke: TestApi;
  let chain: TestChain;
  let market: Market;

  before(async () => {
    chain = await openChain("base-sepolia");
    const stack = await readStack();
    const { limits } = loadEnv({ ...testVariables(stack), MONGODB_URI: stack.mongodbUri });
    api = await startTestApi();
    broke = await startTestApi({
      databaseName: api.container.connection.name,
      env: {
        x402: { ...x402, settlementKey: await gasKey(chain) },
        limits: { ...limits, budgets: { ...limits.budgets, transaction: 0 } },
      },
    });
    market = await openMarket(api, chain);
  });
  after(async () => {
    await broke.stop();
    await api.close();
  });

  it("[D36] [D43] runs again until the outcome is known, and is paid for once", async () => {
    const { seller } = market;
    const usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
    await chain.endow(seller.account, { usdc: ONE_USDC });
    const had = await chain.usdcOf(seller.walletAddress);
    const { transactionId } = await fundedDeal(market);
    const deliver = (proof: Record<string, string> = {}) =>
      broke.request("POST", `/api/v1/transactions/${transactionId}/deliver`, {
        key: seller.apiKey,
        body: { responsePayload: { answer: 42 } },
        headers: { "idempotency-key": "deliver", ...proof },
      });
    const payment = await signTransfer({ chain, usdc, payTo: x402.payTo ?? "0x" }, seller.account);
    const first = await deliver(headerV1(payment));
    assert.strictEqual(first.status, 202, first.text);
    const receipt = first.headers.get("x-payment-response");
    assert.isNotNull(receipt);
    for (const proof of [{}, headerV1(payment)]) {
      const answer = await deliver(proof);
      assert.deepEqual([answer.status, answer.headers.get("x-payment-response")], [202, receipt], answer.text);
    }

    const sent = await chain.send(seller.account, first.body.data.submitDelivery);
    assert.strictEqual(sent.status, "success");
    const delivered = await until("the delivery is indexed", async () => {
      const answer = await deliver();
      return answer.status !== 202 && answer;
    });
    assert.strictEqual(delivered.status, 200, delivered.text);
    assert.strictEqual(delivered.headers.get("x-payment-response"), receipt);
    const replayed = await deliver();
    assert.deepEqual([replayed.status, replayed.text], [200, delivered.text]);
    assert.strictEqual(replayed.headers.get("idempotency-replayed"), "true");
    assert.strictEqual(had - (await chain.usdcOf(seller.walletAddress)), CALL_UNITS.transaction);
  });
});
