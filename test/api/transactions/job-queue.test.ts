import { createHmac } from "node:crypto";

import { assert } from "chai";

import { assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, deliverDeal, fundedDeal, openMarket, readTransaction } from "../../fixtures/deals.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("jobs without a webhook", () => {
  let api: TestApi;
  let chain: TestChain;
  let hook: TestReceiver;

  before(async () => {
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
    hook = await startReceiver();
  });
  after(async () => {
    await api.close();
    await hook.close();
  });

  const get = (agent: TestAgent, path: string) => api.request("GET", path, { key: agent.apiKey });
  const secretOf = async (agent: TestAgent) => (await get(agent, "/api/v1/webhooks/secret")).body.data.secret as string;

  it("[S2.2.24] [D25] are polled by their seller from its queue", async () => {
    const own = await openMarket(api, chain, { deliveryType: "async" });
    const checkout = await fundedDeal(own, { requestPayload: { task: "count" } });
    const job = await until("the job is queued", async () => (await get(own.seller, "/api/v1/jobs")).body.data[0]);
    assert.deepEqual(
      [job.transactionId, job.requestPayload, job.status],
      [checkout.transactionId, { task: "count" }, "funded"],
    );
    assert.deepEqual((await get(own.buyer, "/api/v1/jobs")).body.data, []);
    await deliverDeal(own, checkout.transactionId);
    await until("the job has left", async () => (await get(own.seller, "/api/v1/jobs")).body.data.length === 0);
    const delivered = () => get(own.seller, "/api/v1/jobs?status=delivered");
    await until("the job is among the delivered ones", async () => (await delivered()).body.data.length === 1);
    assertInvalid(await get(own.seller, "/api/v1/jobs?status=open&seller=x"), "query.status", "query.seller");
  });

  it("are listed without reading the payload that their seller has handed over", async () => {
    const own = await openMarket(api, chain, { deliveryType: "async" });
    const { transactionId } = await fundedDeal(own, { requestPayload: { task: "count" } });
    await until("the job is queued", async () => (await get(own.seller, "/api/v1/jobs")).body.data[0]);
    const body = { responsePayload: { count: 3 } };
    const path = `/api/v1/transactions/${transactionId}/deliver`;
    const { status, text } = await api.request("POST", path, { key: own.seller.apiKey, body });
    assert.strictEqual(status, 202, text);

    const { transactions } = api.container.features.transactions.services;
    const listed = async (fields: { withoutResponses?: boolean }) => {
      const filter = { role: "seller", status: "funded", limit: 10, ...fields } as const;
      const { entries } = await transactions.list(own.seller.agentId, filter);
      return entries.map(({ record }) => [record._id, record.responsePayloadJson]);
    };
    assert.deepEqual(await listed({ withoutResponses: true }), [[transactionId, null]]);
    assert.deepEqual(await listed({}), [[transactionId, JSON.stringify(body.responsePayload)]]);
    const [job, ...others] = (await get(own.seller, "/api/v1/jobs")).body.data;
    assert.deepEqual([job.transactionId, job.requestPayload, others], [transactionId, { task: "count" }, []]);
  });

  it("can be read even if no token can be signed", async () => {
    const unsigned = await startTestApi({ env: { webhookSigningSecrets: [] } });
    try {
      const own = await openMarket(unsigned, chain, { deliveryType: "api_response", endpointUrl: hook.url });
      const { transactionId } = await fundedDeal(own);
      const read = await readTransaction(unsigned, own.buyer, transactionId);
      assert.deepEqual([read.status, read.sellerEndpoint], ["funded", undefined]);
    } finally {
      await unsigned.close();
    }
  });

  it("[S2.2.22] [S2.2.23] [D24] let the buyer of an api_response service call the seller directly, with a token for the job", async () => {
    const own = await openMarket(api, chain, { deliveryType: "api_response", endpointUrl: hook.url });
    const pending = await checkOut(own);
    const read = async (agent: TestAgent, transactionId: string) =>
      (await readTransaction(api, agent, transactionId)).sellerEndpoint;
    assert.strictEqual(await read(own.buyer, pending.transactionId), undefined);

    const checkout = await fundedDeal(own);
    const { transactionId } = checkout;
    assert.strictEqual(await read(own.seller, transactionId), undefined);
    const { url, jobToken } = await read(own.buyer, transactionId);
    assert.strictEqual(url, hook.url);
    const [header, claims, signature] = String(jobToken).split(".");
    const expected = createHmac("sha256", await secretOf(own.seller))
      .update(`${header}.${claims}`)
      .digest("base64url");
    assert.strictEqual(signature, expected, "the seller verifies the token with its webhook secret");
    const decoded = JSON.parse(Buffer.from(claims ?? "", "base64url").toString("utf8"));
    assert.deepEqual(
      [decoded.transactionId, decoded.sub, decoded.aud],
      [transactionId, own.buyer.agentId, own.seller.agentId],
    );
    assert.strictEqual(decoded.exp, checkout.paymentInstructions.deadline);
    const direct = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${jobToken}` }, body: "{}" });
    assert.strictEqual(direct.status, 200);

    await deliverDeal(own, transactionId, { answered: true });
    const before = await chain.usdcOf(own.seller.walletAddress);
    await act(api, chain, own.buyer, transactionId, "accept");
    const paid = (await chain.usdcOf(own.seller.walletAddress)) - before;
    assert.strictEqual(paid, BigInt(checkout.paymentInstructions.refundableAmount));
  });
});
