// What the parties of a checkout are told until an escrow exists, and once none can exist any more.
import { assert } from "chai";
import { encodeFunctionData, erc20Abi } from "viem";

import { createEscrowCall } from "../../../api/chain/calldata.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import { resolve } from "../../fixtures/description.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { checkOut, createEscrow, fund, ONE_USDC, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { pathOf, transactionCalls, UNKNOWN_HASH } from "../../fixtures/transactions.ts";
import { until } from "../../fixtures/until.ts";

/** Every request about a transaction that its seller may try. */
const SELLERS_REQUESTS: readonly [name: string, method: string, path: (id: string) => string, body?: object][] = [
  ["read", "GET", (id) => `/api/v1/transactions/${id}`],
  ["criteria", "GET", (id) => `/api/v1/transactions/${id}/criteria`],
  ["timeline", "GET", (id) => `/api/v1/transactions/${id}/timeline`],
  ["finalize", "GET", (id) => `/api/v1/transactions/${id}/finalize`],
  ["claimAbandoned", "GET", (id) => `/api/v1/transactions/${id}/claimAbandoned`],
  ["deliver", "POST", (id) => `/api/v1/transactions/${id}/deliver`, { responsePayload: { a: 1 } }],
  ["check", "POST", (id) => `/api/v1/transactions/${id}/check`, { responsePayload: { a: 1 } }],
  ["fund", "POST", (id) => `/api/v1/transactions/${id}/fund`, { txHash: UNKNOWN_HASH }],
  ["confirm", "POST", (id) => `/api/v1/transactions/${id}/confirm`],
  ["evidence", "POST", (id) => `/api/v1/transactions/${id}/dispute/evidence`, { complete: true }],
];

describe("a checkout before its funding", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let stranger: TestAgent;
  let nowMs = () => Date.now();

  before(async () => {
    api = await startTestApi({ runsLoops: true, clock: { now: () => new Date(nowMs()) } });
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
    stranger = await api.registerAgent();
  });
  afterEach(() => {
    nowMs = () => Date.now();
  });
  after(() => api.close());

  const { call, stored } = transactionCalls(() => api);

  describe("to its seller", () => {
    let pending: CheckoutData;
    before(async () => {
      pending = await checkOut(market);
    });

    for (const [name, method, path, body] of SELLERS_REQUESTS) {
      it(`[D15] [D33] answers ${name} with 409 transaction_not_funded, id and status, and a stranger's with 404`, async () => {
        const before = await stored(pending);
        const answer = await call(market.seller, method, path(pending.transactionId), body);
        assertError(answer, 409, "transaction_not_funded");
        const { transactionId, status, ...others } = answer.body.details;
        assert.deepEqual([transactionId, status], [pending.transactionId, "pending_funding"]);
        assert.deepEqual(Object.keys(others), ["indexedBlock"], "nothing of the terms");
        assertError(await call(stranger, method, path(pending.transactionId), body), 404, "not_found");
        assert.deepEqual(await stored(pending), before);
      });
    }

    it("[D15] can't be the subject of a message yet, and both parties are told why", async () => {
      const { transactionId } = pending;
      for (const [from, to] of [
        [market.seller, market.buyer],
        [market.buyer, market.seller],
      ] as const) {
        const body = { toAgentId: to.agentId, body: "When?", transactionId };
        const answer = await call(from, "POST", "/api/v1/messages", body);
        assertError(answer, 409, "transaction_not_funded");
        assert.strictEqual(answer.body.details.transactionId, transactionId);
      }
      const foreign = { toAgentId: market.seller.agentId, body: "When?", transactionId };
      assertError(await call(stranger, "POST", "/api/v1/messages", foreign), 404, "not_found");
    });

    it("[D15] isn't listed, and opens with its funding", async () => {
      const { body } = await call(market.seller, "GET", "/api/v1/transactions?status=pending_funding");
      assert.deepEqual(body.data, []);
      const { transactionHash } = await createEscrow(market, pending);
      await fund(market, pending, transactionHash);
      assert.strictEqual((await readTransaction(api, market.seller, pending.transactionId)).status, "funded");
    });
  });

  describe("to its buyer", () => {
    const namesOf = (actions: { action: string }[]) => actions.map(({ action }) => action);
    const confirm = (checkout: CheckoutData) => call(market.buyer, "POST", pathOf(checkout, "/confirm"));
    const order = {
      quantity: 2,
      requestPayload: { token: "0x42" },
      criteria: { checks: ["cel:true"] },
      disputeWindow: 600,
      abandonmentGrace: 7_200,
      deliveryDeadlineSeconds: 86_400,
    };

    /** Sends the offered order as it is, and asserts that it is the same order with another escrow id. */
    async function orderAgain(checkout: CheckoutData): Promise<void> {
      const { actions } = await readTransaction(api, market.buyer, checkout.transactionId);
      assert.deepEqual(namesOf(actions), ["checkout"]);
      const [offered] = actions;
      assert.deepEqual([offered.method, offered.path, offered.availableUntil], ["POST", "/api/v1/checkout", null]);
      assert.deepEqual(offered.body, { serviceId: market.serviceId, paymentMethod: "usdc", ...order });
      const { body: description } = await api.request("GET", "/openapi.json");
      const { schema } = description.paths["/api/v1/checkout"].post.requestBody.content["application/json"];
      const declared = resolve(description, schema);
      assert.sameMembers(Object.keys(offered.bodySchema.properties), Object.keys(declared.properties));
      assert.sameMembers(offered.bodySchema.required, declared.required);
      nowMs = () => Date.now();
      const again = await call(market.buyer, offered.method, offered.path, offered.body);
      assert.strictEqual(again.status, 200, again.text);
      const [old, made] = [checkout.paymentInstructions, again.body.data.paymentInstructions];
      for (const term of ["amount", "disputeWindow", "abandonmentGrace", "criteriaHash"] as const) {
        assert.strictEqual(made[term], old[term], term);
      }
      assert.notStrictEqual(made.escrowId, old.escrowId);
    }

    it("[D18] confirm hands out no call that must revert, but what the buyer may do next", async () => {
      const checkout = await checkOut(market);
      const answer = await confirm(checkout);
      assertError(answer, 409, "not_accepted_on_chain");
      const { status, accept, actions } = answer.body.details;
      assert.deepEqual([status, accept], ["pending_funding", null]);
      assert.deepEqual(actions, (await readTransaction(api, market.buyer, checkout.transactionId)).actions);
      assert.deepEqual(namesOf(actions), ["approve", "createEscrow"]);
    });

    it("[D15] an escrow id that other terms have taken offers the same order again", async () => {
      const checkout = await checkOut(market, order);
      const { paymentInstructions: terms } = checkout;
      const [approve] = terms.calls;
      assert.ok(approve !== undefined);
      await chain.send(market.buyer.account, approve);
      const { status } = await chain.send(
        market.buyer.account,
        createEscrowCall(
          { chainId: 84_532, escrowContract: chain.deployment.escrow },
          {
            escrowId: terms.escrowId,
            seller: terms.sellerAddress,
            amount: BigInt(terms.amount) - 1n,
            token: terms.tokenAddress,
            deadline: terms.deadline,
            disputeWindow: terms.disputeWindow,
            abandonmentGrace: terms.abandonmentGrace,
            criteriaHash: terms.criteriaHash,
          },
        ),
      );
      assert.strictEqual(status, "success");
      await until("the id is taken", async () => {
        const { expiredBy } = await readTransaction(api, market.buyer, checkout.transactionId);
        return expiredBy === "escrow_id_taken";
      });
      const answer = await confirm(checkout);
      assertError(answer, 409, "not_accepted_on_chain");
      assert.deepEqual([answer.body.details.accept, namesOf(answer.body.details.actions)], [null, ["checkout"]]);
      await orderAgain(checkout);
    });

    it("[D15] [D16] a quote that has ended offers the same order again, before and after it counts as expired", async () => {
      const checkout = await checkOut(market, order);
      nowMs = () => Date.parse(checkout.paymentInstructions.quoteExpiresAt) + 1_000;
      assert.strictEqual((await stored(checkout))?.status, "pending_funding");
      await orderAgain(checkout);
      const { transactions } = api.container.features.transactions.models;
      await transactions.updateOne({ _id: checkout.transactionId }, { status: "expired", expiredBy: "quote" });
      assert.strictEqual((await readTransaction(api, market.buyer, checkout.transactionId)).status, "expired");
      await orderAgain(checkout);
      assertError(await call(market.seller, "GET", pathOf(checkout)), 404, "not_found");
    });
  });

  describe("paid by a plain transfer", () => {
    let payer: Market;
    before(async () => {
      payer = await openMarket(api, chain);
    });

    const fundBy = (checkout: CheckoutData, txHash: string): Promise<Answer> =>
      call(payer.buyer, "POST", pathOf(checkout, "/fund"), { txHash });
    async function transfer({ paymentInstructions }: CheckoutData, to: `0x${string}`, amount: bigint) {
      const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, amount] });
      const sent = await chain.send(payer.buyer.account, { to: paymentInstructions.tokenAddress, data });
      assert.strictEqual(sent.status, "success");
      return sent.transactionHash;
    }

    it("[D16] is 409 funding_was_a_transfer, which says that the money is lost and why", async () => {
      const checkout = await checkOut(payer);
      const { escrowContract, tokenAddress, escrowId, warning } = checkout.paymentInstructions;
      assert.match(warning, /plain transfer.*lost/);
      const txHash = await transfer(checkout, escrowContract, 2_500_000n);
      const before = await stored(checkout);
      const answer = await fundBy(checkout, txHash);
      assertError(answer, 409, "funding_was_a_transfer");
      assert.match(answer.body.error, /lost/);
      const { why, ...facts } = answer.body.details;
      assert.match(why, /no function that sends them back/);
      assert.deepEqual(facts, {
        txHash,
        network: "base-sepolia",
        escrowId,
        escrowContract,
        transfers: [{ token: tokenAddress, from: payer.buyer.walletAddress, amount: "2500000" }],
      });
      assert.deepEqual(await stored(checkout), before);
    });

    it("[D16] isn't said of a transfer to another address, of nothing, or of another checkout's createEscrow", async () => {
      const [checkout, other] = [await checkOut(payer), await checkOut(payer)];
      const { escrowContract } = checkout.paymentInstructions;
      for (const txHash of [
        await transfer(checkout, payer.seller.walletAddress, ONE_USDC),
        await transfer(checkout, escrowContract, 0n),
        (await createEscrow(payer, other)).transactionHash,
      ]) {
        assertError(await fundBy(checkout, txHash), 409, "funding_other_escrow");
      }
    });
  });
});
