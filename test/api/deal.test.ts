import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { act, checkOut, createEscrow, deliverDeal, openMarket, readTransaction } from "../fixtures/deals.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";

describe("a deal through the API", () => {
  let api: TestApi;
  let chain: TestChain;
  const running = new AbortController();
  let loops: Promise<unknown>;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    loops = Promise.all(api.container.loops.map((loop) => loop.run(running.signal)));
  });
  after(async () => {
    running.abort();
    await loops;
    await api.close();
  });

  it("[S4.303] checkout, approve, createEscrow, fund, submitDelivery and deliver, accept, confirm end in Released", async () => {
    const market = await openMarket(api, chain);
    const { buyer, seller } = market;
    const checkout = await checkOut(market, { requestPayload: { token: "0x42" } });
    const { transactionId, paymentInstructions } = checkout;

    const { transactionHash } = await createEscrow(market, checkout);
    const funded = await api.request("POST", paymentInstructions.fundEndpoint, {
      key: buyer.apiKey,
      body: { txHash: transactionHash },
    });
    assert.equal(funded.status, 200, funded.text);
    assert.equal(funded.body.data.status, "funded");
    assert.equal(funded.body.data.fundTxHash, transactionHash);

    await deliverDeal(market, transactionId, { report: "clean" });
    await act(api, chain, buyer, transactionId, "accept");
    const confirmed = await api.request("POST", `/api/v1/transactions/${transactionId}/confirm`, { key: buyer.apiKey });
    assert.equal(confirmed.status, 200, confirmed.text);
    assert.equal(confirmed.body.data.status, "released");

    const copied = await until("the copy follows", async () => {
      const { body } = await api.request("GET", "/api/v1/transactions?status=released", { key: seller.apiKey });
      return body.data[0];
    });
    assert.equal(copied.transactionId, transactionId);
    assert.equal((await readTransaction(api, seller, transactionId)).status, "released");
  });
});
