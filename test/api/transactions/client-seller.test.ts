// The client's seller: the terms that it sets on chain, and the loop of the example in sdk/examples.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import { assert } from "chai";

import { approveCall, createEscrowCall } from "../../../api/chain/calldata.ts";
import { workOff } from "../../../sdk/examples/seller-loop.ts";
import { ApiError, collect, Marketplace } from "../../../sdk/src/index.ts";
import type { Agent } from "../../../sdk/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { fundedDeal, ONE_USDC, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("the client's seller", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;

  before(async () => {
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
  });
  beforeEach(async () => {
    market = await openMarket(api, chain);
  });
  after(() => api.close());

  const clientOf = ({ apiKey, account }: TestAgent): Agent =>
    new Marketplace({ url: api.url }).agent({ apiKey, wallet: chain.walletOf(account) });
  const sentBy = ({ walletAddress: address }: TestAgent) => chain.client.getTransactionCount({ address });

  /** The buyer creates an escrow that no checkout asked for. Returns its transaction id once the seller has it. */
  async function createUnsolicited(): Promise<string> {
    const token = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
    const target = { chainId: chain.deployment.chainId, escrowContract: chain.deployment.escrow };
    const { timestamp } = await chain.client.getBlock();
    const escrowId = `0x${randomBytes(32).toString("hex")}` as const;
    const terms = {
      escrowId,
      seller: market.seller.walletAddress,
      amount: ONE_USDC,
      token,
      disputeWindow: 300,

      deadline: Number(timestamp) + 10_000,
      abandonmentGrace: 3_600,
      criteriaHash: `0x${"5c".repeat(32)}` as const,
    };
    await chain.send(market.buyer.account, approveCall(target, token, ONE_USDC));
    assert.strictEqual((await chain.send(market.buyer.account, createEscrowCall(target, terms))).status, "success");
    return until("the seller has it", async () => {
      const jobs = await collect(clientOf(market.seller).jobs({ status: "funded" }));
      return jobs.find((job) => job.escrowId === escrowId)?.transactionId;
    });
  }

  describe("terms", () => {
    it("[D10] are open by default, are set on chain one by one, and checkouts keep to them", async () => {
      const seller = clientOf(market.seller);
      const open = { minAmountUsd: 0n, minDeliverySeconds: 0, paused: false };
      assert.deepEqual(await seller.sellerTerms(), open);
      await seller.setSellerTerms({ minAmountUsd: 2_500_001n });
      assert.deepEqual(await seller.sellerTerms(), { ...open, minAmountUsd: 2_500_001n });
      const order = () => clientOf(market.buyer).checkout({ serviceId: market.serviceId });
      assert.strictEqual((await rejectionOf(order(), ApiError)).code, "seller_terms_not_met");

      await seller.setSellerTerms({ minAmountUsd: 2_500_000n, minDeliverySeconds: 3_600 });
      assert.strictEqual((await order()).terms.amount, 2_500_000n);
      await seller.setSellerTerms({ paused: true });
      assert.deepEqual(await seller.sellerTerms(), {
        minAmountUsd: 2_500_000n,
        minDeliverySeconds: 3_600,
        paused: true,
      });
      assert.strictEqual((await rejectionOf(order(), ApiError)).code, "seller_terms_not_met");
    });
  });

  describe("loop", () => {
    const work = () => Promise.resolve({ summary: "Three risks were found." });
    const statusOf = async (id: string) => (await readTransaction(api, market.seller, id)).status;

    it("delivers what was ordered, and leaves what nobody ordered alone unless it is told to decline it", async () => {
      const seller = clientOf(market.seller);
      const { transactionId } = await fundedDeal(market);
      const unsolicited = await createUnsolicited();
      await until("the seller has both", async () => (await collect(seller.jobs({ status: "funded" }))).length === 2);

      const before = await sentBy(market.seller);
      await workOff(seller, { work });
      assert.deepEqual([await statusOf(transactionId), await statusOf(unsolicited)], ["delivered", "funded"]);
      assert.strictEqual(await sentBy(market.seller), before + 1, "nothing but the delivery is sent");

      await workOff(seller, { work, declinesUnsolicited: true });
      assert.strictEqual(await statusOf(unsolicited), "refunded");
      assert.strictEqual(await sentBy(market.seller), before + 2);
    });

    it("sends nothing if the work fails", async () => {
      const seller = clientOf(market.seller);
      const { transactionId } = await fundedDeal(market);
      await until("the seller has it", async () => (await collect(seller.jobs({ status: "funded" }))).length === 1);
      const before = await sentBy(market.seller);
      await rejectionOf(workOff(seller, { work: () => Promise.reject(new Error("out of paper")) }), Error);
      assert.deepEqual([await statusOf(transactionId), await sentBy(market.seller)], ["funded", before]);
    });

    it("is in the README as it is run here", () => {
      const [, shown] = /<!-- seller-loop -->\n```ts\n([\s\S]*?)```/.exec(readFileSync("sdk/README.md", "utf8")) ?? [];
      const run = readFileSync("sdk/examples/seller-loop.ts", "utf8");
      assert.strictEqual(shown, run.replace("../src/index.ts", "@agent-marketplace/sdk"));
    });
  });
});
