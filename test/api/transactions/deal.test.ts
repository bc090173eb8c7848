import { assert } from "chai";
import type { TransactionReceipt } from "viem";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, createEscrow, deliverDeal, openMarket, readTransaction } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("a deal through the API", () => {
  let api: TestApi;
  let chain: TestChain;

  before(async () => {
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
  });
  after(() => api.close());

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
    assert.strictEqual(funded.status, 200, funded.text);
    assert.strictEqual(funded.body.data.status, "funded");
    assert.strictEqual(funded.body.data.fundTxHash, transactionHash);

    await deliverDeal(market, transactionId, { report: "clean" });
    await act(api, chain, buyer, transactionId, "accept");
    const confirmed = await api.request("POST", `/api/v1/transactions/${transactionId}/confirm`, { key: buyer.apiKey });
    assert.strictEqual(confirmed.status, 200, confirmed.text);
    assert.strictEqual(confirmed.body.data.status, "released");

    const copied = await until("the copy follows", async () => {
      const { body } = await api.request("GET", "/api/v1/transactions?status=released", { key: seller.apiKey });
      return body.data[0];
    });
    assert.strictEqual(copied.transactionId, transactionId);
    assert.strictEqual((await readTransaction(api, seller, transactionId)).status, "released");
  });

  it("[S5.09] moves no money with API keys alone", async () => {
    const market = await openMarket(api, chain);
    const { buyer, seller } = market;
    const { transactionId, paymentInstructions } = await checkOut(market);
    const holdings = async () => ({
      buyer: await chain.usdcOf(buyer.walletAddress),
      seller: await chain.usdcOf(seller.walletAddress),
      sent: await chain.client.getTransactionCount({ address: buyer.walletAddress }),
      state: await api.container.chains["base-sepolia"].escrowState(paymentInstructions.escrowId),
    });
    const before = await holdings();
    const path = `/api/v1/transactions/${transactionId}`;
    await api.request("POST", `${path}/fund`, { key: buyer.apiKey, body: { txHash: `0x${"12".repeat(32)}` } });
    await api.request("POST", `${path}/deliver`, { key: seller.apiKey, body: { responsePayload: { done: true } } });
    await api.request("POST", `${path}/confirm`, { key: buyer.apiKey });
    for (const operation of ["", "/claimAbandoned", "/finalize", "/criteria"]) {
      await api.request("GET", path + operation, { key: buyer.apiKey });
    }
    assert.deepEqual(await holdings(), before);
  });

  it("[S5.10] makes each agent pay the gas of its own moves", async () => {
    const market = await openMarket(api, chain);
    const { buyer, seller } = market;
    const ether = (agent: TestAgent) => chain.client.getBalance({ address: agent.walletAddress });
    const gasOf = (receipt: TransactionReceipt) => receipt.gasUsed * receipt.effectiveGasPrice;
    const checkout = await checkOut(market);
    const [approve, create] = checkout.paymentInstructions.calls;
    assert.ok(approve !== undefined && create !== undefined);
    const buyerBefore = await ether(buyer);
    const receipts = [await chain.send(buyer.account, approve), await chain.send(buyer.account, create)];
    await api.request("POST", checkout.paymentInstructions.fundEndpoint, {
      key: buyer.apiKey,
      body: { txHash: receipts[1]?.transactionHash },
    });
    const sellerBefore = await ether(seller);
    const delivered = await deliverDeal(market, checkout.transactionId);
    assert.strictEqual(sellerBefore - (await ether(seller)), gasOf(delivered));
    receipts.push(await act(api, chain, buyer, checkout.transactionId, "accept"));
    assert.strictEqual(
      buyerBefore - (await ether(buyer)),
      receipts.map(gasOf).reduce((sum, gas) => sum + gas, 0n),
    );
    for (const receipt of receipts) assert.strictEqual(receipt.from, buyer.walletAddress.toLowerCase());
  });
});
