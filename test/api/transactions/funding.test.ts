import { assert } from "chai";
import { encodeFunctionData, erc20Abi } from "viem";

import { createEscrowCall } from "../../../api/chain/calldata.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { checkOut, createEscrow, ONE_USDC, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { pathOf, transactionCalls, UNKNOWN_HASH } from "../../fixtures/transactions.ts";
import { until } from "../../fixtures/until.ts";

describe("the funding of a transaction", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let stranger: TestAgent;

  before(async () => {
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
    stranger = await api.registerAgent();
  });
  after(() => api.close());

  const { call, stored } = transactionCalls(() => api);
  const fund = (checkout: CheckoutData, txHash: string, agent = market.buyer) =>
    call(agent, "POST", pathOf(checkout, "/fund"), { txHash });
  const target = () => ({ chainId: 84_532, escrowContract: chain.deployment.escrow });
  /** Submits a hash that funds nothing, and asserts that the checkout doesn't change. */
  async function refused(checkout: CheckoutData, txHash: string, agent = market.buyer): Promise<Answer> {
    const before = await stored(checkout);
    assert.strictEqual(before?.status, "pending_funding");
    const answer = await fund(checkout, txHash, agent);
    assert.deepEqual(await stored(checkout), before);
    return answer;
  }

  it("[S4.r08] [D16] verifies the hash of createEscrow and answers the funded transaction", async () => {
    const checkout = await checkOut(market);
    const { transactionHash, blockNumber } = await createEscrow(market, checkout);
    const answer = await fund(checkout, transactionHash);
    assert.strictEqual(answer.status, 200, answer.text);
    const { data } = answer.body;
    assert.deepEqual([data.status, data.fundTxHash, data.late], ["funded", transactionHash, false]);
    assert.ok(data.indexedBlock >= Number(blockNumber), "the state is not older than the funding");
    const again = await fund(checkout, transactionHash);
    assert.strictEqual(again.status, 200);
    assert.strictEqual(again.body.data.status, "funded");
  });

  it("[D16] funds an escrow that is seen on chain even if fund was never called", async () => {
    const checkout = await checkOut(market);
    await createEscrow(market, checkout);
    const read = await until("the transaction is funded", async () => {
      const { body } = await call(market.seller, "GET", pathOf(checkout));
      return body.data?.status === "funded" ? body.data : undefined;
    });
    assert.strictEqual(read.escrowId, checkout.paymentInstructions.escrowId);
  });

  it("[S4.r08.1] [D16] reports that a hash doesn't exist, and nothing becomes funded", async () => {
    const checkout = await checkOut(market);
    assertError(await refused(checkout, UNKNOWN_HASH), 409, "funding_not_found");
    assert.strictEqual((await readTransaction(api, market.buyer, checkout.transactionId)).status, "pending_funding");
  });

  it("[S4.r08.1] [D16] reports that the transaction failed", async () => {
    // Without an allowance the contract can't transfer the deposit.
    const own = await openMarket(api, chain);
    const checkout = await checkOut(own);
    const create = checkout.paymentInstructions.calls[1];
    assert.ok(create !== undefined);
    const receipt = await chain.sendReverting(own.buyer.account, create);
    assert.strictEqual(receipt.status, "reverted");
    assertError(await refused(checkout, receipt.transactionHash, own.buyer), 409, "funding_failed");
  });

  it("[S4.302] [D16] reports that the transaction has no receipt yet, and nothing becomes funded", async () => {
    const own = await openMarket(api, chain);
    const checkout = await checkOut(own);
    const create = checkout.paymentInstructions.calls[1];
    assert.ok(create !== undefined);
    const txHash = await chain.sendTooEarly(own.buyer.account, create);
    const answer = await refused(checkout, txHash, own.buyer);
    assertError(answer, 409, "funding_pending");
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
  });

  it("[S4.r08.1] [D16] reports that the transaction created another escrow, or none", async () => {
    const [checkout, other] = [await checkOut(market), await checkOut(market)];
    const { transactionHash } = await createEscrow(market, other);
    const answer = await refused(checkout, transactionHash);
    assertError(answer, 409, "funding_other_escrow");
    assert.deepEqual(answer.body.details.createdEscrowIds, [other.paymentInstructions.escrowId]);
    const approve = checkout.paymentInstructions.calls[0];
    assert.ok(approve !== undefined);
    const approval = await chain.send(market.buyer.account, approve);
    const none = await refused(checkout, approval.transactionHash);
    assertError(none, 409, "funding_other_escrow");
    assert.deepEqual(none.body.details.createdEscrowIds, []);
  });

  it("[S4.r08.1] [D16] reports that the transaction is on another chain", async () => {
    const checkout = await checkOut(market);
    const mainnet = await openChain("base");
    await mainnet.endow(market.buyer.account, { usdc: ONE_USDC });
    const approve = checkout.paymentInstructions.calls[0];
    assert.ok(approve !== undefined);
    const { transactionHash } = await mainnet.send(market.buyer.account, approve);
    const answer = await refused(checkout, transactionHash);
    assertError(answer, 409, "funding_other_network");
    assert.deepEqual([answer.body.details.network, answer.body.details.foundOn], ["base-sepolia", "base"]);
  });

  it("[S4.r08.1] [D16] reports which terms differ, and the checkout has lost its escrow id", async () => {
    const checkout = await checkOut(market);
    const { paymentInstructions: terms } = checkout;
    const [approve] = terms.calls;
    assert.ok(approve !== undefined);
    await chain.send(market.buyer.account, approve);
    const create = createEscrowCall(target(), {
      escrowId: terms.escrowId,
      seller: terms.sellerAddress,
      amount: BigInt(terms.amount) - 1n,
      token: terms.tokenAddress,
      deadline: terms.deadline + 1,
      disputeWindow: terms.disputeWindow,
      abandonmentGrace: terms.abandonmentGrace,
      criteriaHash: terms.criteriaHash,
    });
    const { transactionHash, status } = await chain.send(market.buyer.account, create);
    assert.strictEqual(status, "success");
    const answer = await fund(checkout, transactionHash);
    assertError(answer, 409, "funding_other_terms");
    assert.deepEqual(answer.body.details.differences, [
      { term: "amount", expected: "2500000", actual: "2499999" },
      { term: "deadline", expected: String(terms.deadline), actual: String(terms.deadline + 1) },
    ]);
    const read = await until("the checkout is lost", async () => {
      const data = await readTransaction(api, market.buyer, checkout.transactionId);
      return data.status === "expired" ? data : undefined;
    });
    assert.strictEqual(read.expiredBy, "escrow_id_taken");
  });

  describe("of a wallet that can no longer pay", () => {
    /** A checkout whose buyer has spent its tokens, so that the funding call has failed on chain. */
    async function spentElsewhere() {
      const poor = await openMarket(api, chain);
      const checkout = await checkOut(poor);
      const { calls, tokenAddress } = checkout.paymentInstructions;
      const [approve, create] = calls;
      assert.ok(approve !== undefined && create !== undefined);
      await chain.send(poor.buyer.account, approve);
      const args = [poor.seller.walletAddress, (await chain.usdcOf(poor.buyer.walletAddress)) - 1n] as const;
      const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args });
      await chain.send(poor.buyer.account, { to: tokenAddress, data });
      const receipt = await chain.sendReverting(poor.buyer.account, create);
      assert.strictEqual(receipt.status, "reverted");
      return { poor, checkout, txHash: receipt.transactionHash };
    }

    it("[S7.16] answers 402 when its createEscrow failed, with the required amount and the balance", async () => {
      const { poor, checkout, txHash } = await spentElsewhere();
      const answer = await refused(checkout, txHash, poor.buyer);
      assertError(answer, 402, "insufficient_token_balance");
      const { tokenAddress: token } = checkout.paymentInstructions;
      assert.deepEqual(answer.body.details, { token, required: "2500000", balance: "1" });
    });

    it("[D16] checks the hash first: an unknown one is a 409 funding_not_found", async () => {
      const { poor, checkout } = await spentElsewhere();
      assertError(await refused(checkout, UNKNOWN_HASH, poor.buyer), 409, "funding_not_found");
    });
  });

  it("refuses a malformed hash, unknown fields and a missing hash", async () => {
    const checkout = await checkOut(market);
    for (const txHash of ["0x12", "funded", 7, null, `${UNKNOWN_HASH}00`]) {
      assertInvalid(await call(market.buyer, "POST", pathOf(checkout, "/fund"), { txHash }), "body.txHash");
    }
    assertInvalid(await call(market.buyer, "POST", pathOf(checkout, "/fund"), {}), "body.txHash");
    assertInvalid(
      await call(market.buyer, "POST", pathOf(checkout, "/fund"), { txHash: UNKNOWN_HASH, status: "funded" }),
      "body.status",
    );
  });

  it("[D33] is only for the buyer: the seller gets 403, and 409 until it is funded", async () => {
    const checkout = await checkOut(market);
    assertError(await fund(checkout, UNKNOWN_HASH, market.seller), 409, "transaction_not_funded");
    const { transactionHash } = await createEscrow(market, checkout);
    assert.strictEqual((await fund(checkout, transactionHash)).status, 200);
    assertError(await fund(checkout, transactionHash, market.seller), 403, "wrong_role");
    assertError(await fund(checkout, transactionHash, stranger), 404, "not_found");
  });
});
