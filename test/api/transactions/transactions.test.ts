import { assert } from "chai";
import { decodeFunctionData } from "viem";

import { escrowAbi } from "../../../api/chain/abis.ts";
import { moveCall, submitDeliveryCall } from "../../../api/chain/calldata.ts";
import { canonicalJson } from "../../../api/lib/canonical-json.ts";
import { sha256Hex } from "../../../api/lib/ids.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import { resolve } from "../../fixtures/description.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, deliverDeal, fundedDeal, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { pathOf, transactionCalls, UNKNOWN_HASH } from "../../fixtures/transactions.ts";
import { until } from "../../fixtures/until.ts";

const UNKNOWN_ID = `txn_${"0".repeat(32)}`;

describe("transactions", () => {
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
  const target = () => ({ chainId: 84_532, escrowContract: chain.deployment.escrow });

  describe("are read", () => {
    it("[D33] only by their parties: for everybody else, and with other ids, they don't exist", async () => {
      const checkout = await fundedDeal(market);
      for (const operation of ["", "/criteria", "/claimAbandoned", "/finalize"]) {
        assertError(await call(stranger, "GET", pathOf(checkout, operation)), 404, "not_found");
        assertError(
          await call(market.buyer, "GET", `/api/v1/transactions/${UNKNOWN_ID}${operation}`),
          404,
          "not_found",
        );
        assertError(await api.request("GET", pathOf(checkout, operation)), 401, "invalid_api_key");
      }
      const responsePayload = { stolen: true };
      assertError(await call(stranger, "POST", pathOf(checkout, "/deliver"), { responsePayload }), 404, "not_found");
      assertError(await call(stranger, "POST", pathOf(checkout, "/confirm")), 404, "not_found");
    });

    it("[D15] only by the buyer while they wait for funding", async () => {
      const checkout = await checkOut(market);
      assertError(await call(market.seller, "GET", pathOf(checkout)), 409, "transaction_not_funded");
      assert.strictEqual((await call(market.buyer, "GET", pathOf(checkout))).status, 200);
      const { body } = await call(market.seller, "GET", "/api/v1/transactions?limit=100");
      assert.ok(!body.data.some((entry: { transactionId: string }) => entry.transactionId === checkout.transactionId));
    });

    it("[S1.17] [D15] with both agents, the terms, and a timeline that follows the chain", async () => {
      const checkout = await fundedDeal(market);
      const data = await readTransaction(api, market.seller, checkout.transactionId);
      assert.deepEqual([data.buyerAgentId, data.sellerAgentId], [market.buyer.agentId, market.seller.agentId]);
      assert.strictEqual(BigInt(data.lockedAmount) + BigInt(data.platformFee), BigInt(data.amount));
      assert.deepEqual(
        data.timeline.map(({ event }: { event: string }) => event),
        ["CheckedOut", "EscrowCreated"],
      );
      assert.strictEqual(data.timeline[1].txHash, data.fundTxHash);
    });

    it("[S3.3.04] even if their listing is paused: both parties can still read it and them", async () => {
      const own = await openMarket(api, chain);
      const checkout = await fundedDeal(own);
      const listing = `/api/v1/services/${own.serviceId}`;
      assert.strictEqual((await call(own.seller, "PATCH", listing, { status: "paused" })).status, 200);
      for (const agent of [own.buyer, own.seller]) {
        const service = await call(agent, "GET", listing);
        assert.deepEqual([service.status, service.body.data.status], [200, "paused"]);
        const data = await readTransaction(api, agent, checkout.transactionId);
        assert.deepEqual([data.serviceId, data.status], [own.serviceId, "funded"]);
        const { body } = await call(agent, "GET", `/api/v1/transactions?serviceId=${own.serviceId}`);
        assert.deepEqual(
          body.data.map((entry: { transactionId: string }) => entry.transactionId),
          [checkout.transactionId],
        );
      }
    });

    it("refuses a block that no subgraph can have", async () => {
      const checkout = await checkOut(market);
      assertInvalid(await call(market.buyer, "GET", `${pathOf(checkout)}?minBlock=2147483648`), "query.minBlock");
    });

    it("[D41] not older than the block that the caller gives: beyond the chain's head it is 503", async () => {
      const checkout = await fundedDeal(market);
      const head = Number(await chain.client.getBlockNumber());
      const current = await until("the block is indexed", async () => {
        const answer = await call(market.buyer, "GET", `${pathOf(checkout)}?minBlock=${head}`);
        if (answer.status === 503) return undefined;
        assert.strictEqual(answer.status, 200, answer.text);
        return answer;
      });
      assert.ok(current.body.data.indexedBlock >= head);
      const ahead = await call(market.buyer, "GET", `${pathOf(checkout)}?minBlock=${head + 100_000}`);
      assertError(ahead, 503, "indexer_unavailable");
      assert.match(ahead.headers.get("retry-after") ?? "", /^\d+$/);
      assertInvalid(await call(market.buyer, "GET", `${pathOf(checkout)}?minBlock=-1`), "query.minBlock");
    });
  });

  describe("deliver", () => {
    const deliver = (checkout: CheckoutData, body: unknown, agent = market.seller) =>
      call(agent, "POST", pathOf(checkout, "/deliver"), body);

    it("[S4.r09] [S2.2.21] [D17] keeps the payload from the buyer until the chain has the delivery", async () => {
      const checkout = await fundedDeal(market);
      const responsePayload = { report: ["a", { b: 1.5 }], "$key.dot": null };
      const pending = await deliver(checkout, { responsePayload });
      assert.strictEqual(pending.status, 202, pending.text);
      const proof = `0x${sha256Hex(canonicalJson(responsePayload))}`;
      assert.strictEqual(pending.body.data.deliveryProof, proof);
      const prepared = pending.body.data.submitDelivery;
      const { args } = decodeFunctionData({ abi: escrowAbi, data: prepared.data });
      assert.deepEqual<unknown>(args, [checkout.paymentInstructions.escrowId, proof]);
      const hidden = await readTransaction(api, market.buyer, checkout.transactionId);
      assert.deepEqual([hidden.status, hidden.responsePayload, hidden.deliveryProof], ["funded", null, null]);

      const receipt = await chain.send(market.seller.account, prepared);
      const done = await deliver(checkout, { responsePayload, txHash: receipt.transactionHash });
      assert.strictEqual(done.status, 200, done.text);
      assert.deepEqual([done.body.data.status, done.body.data.proofVerified], ["delivered", true]);
      const shown = await readTransaction(api, market.buyer, checkout.transactionId);
      assert.deepEqual([shown.responsePayload, shown.deliveryProof, shown.proofHash], [responsePayload, proof, proof]);
    });

    it("[S4.407] [D17] accepts any commitment on chain: proofVerified is then null", async () => {
      const checkout = await fundedDeal(market);
      const other = `0x${"cd".repeat(32)}` as const;
      const submit = submitDeliveryCall(target(), checkout.paymentInstructions.escrowId, other);
      const { transactionHash } = await chain.send(market.seller.account, submit);
      const done = await deliver(checkout, { responsePayload: { cid: "bafy" }, txHash: transactionHash });
      assert.strictEqual(done.status, 200, done.text);
      assert.deepEqual([done.body.data.proofHash, done.body.data.proofVerified], [other, null]);
    });

    it("[D17] accepts the payload once: the same again is harmless, a different one is refused", async () => {
      const checkout = await fundedDeal(market);
      assert.strictEqual((await deliver(checkout, { responsePayload: { a: 1, b: 2 } })).status, 202);
      assert.strictEqual((await deliver(checkout, { responsePayload: { b: 2, a: 1 } })).status, 202);
      assertError(await deliver(checkout, { responsePayload: { a: 2 } }), 409, "delivery_already_submitted");
      const data = await readTransaction(api, market.seller, checkout.transactionId);
      assert.deepEqual(data.responsePayload, { a: 1, b: 2 });
    });

    it("[D17] accepts one of two simultaneous payloads", async () => {
      const checkout = await fundedDeal(market);
      const answers = await Promise.all([1, 2, 3, 4].map((n) => deliver(checkout, { responsePayload: { n } })));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409, 409, 409]);
      const winner = answers.find(({ status }) => status === 202);
      const data = await readTransaction(api, market.seller, checkout.transactionId);
      assert.deepEqual(data.responsePayload, winner?.body.data.responsePayload);
    });

    it("[D33] is only for the seller: the buyer gets 403 and nothing is stored", async () => {
      const checkout = await fundedDeal(market);
      assertError(await deliver(checkout, { responsePayload: {} }, market.buyer), 403, "wrong_role");
      assert.strictEqual((await stored(checkout))?.responsePayloadJson, null);
    });

    it("is refused before funding, and after the job was declined", async () => {
      const pending = await checkOut(market);
      assertError(await deliver(pending, { responsePayload: {} }), 409, "transaction_not_funded");
      const checkout = await fundedDeal(market);
      await act(api, chain, market.seller, checkout.transactionId, "refund");
      await until(
        "the refund is indexed",
        async () => (await readTransaction(api, market.seller, checkout.transactionId)).status === "refunded",
      );
      assertError(await deliver(checkout, { responsePayload: {} }), 409, "escrow_state_conflict");
      assert.strictEqual((await stored(checkout))?.responsePayloadJson, null);
    });

    it("[D17] [D41] is refused after a refund, even if the same payload was submitted before", async () => {
      const checkout = await fundedDeal(market);
      assert.strictEqual((await deliver(checkout, { responsePayload: { a: 1 } })).status, 202);
      await act(api, chain, market.seller, checkout.transactionId, "refund");
      await until(
        "the refund is indexed",
        async () => (await readTransaction(api, market.seller, checkout.transactionId)).status === "refunded",
      );
      const again = await deliver(checkout, { responsePayload: { a: 1 } });
      assertError(again, 409, "escrow_state_conflict");
      assert.strictEqual(again.body.details.status, "refunded");
      const { timeline } = await readTransaction(api, market.seller, checkout.transactionId);
      const { blockNumber } = timeline.find(({ event }: { event: string }) => event === "EscrowRefunded");
      assert.isAtLeast(again.body.details.indexedBlock, blockNumber);
    });

    it("[D17] reports why a transaction hash isn't a delivery of this escrow, and stores nothing", async () => {
      const [checkout, other] = [await fundedDeal(market), await fundedDeal(market)];
      const { transactionHash } = await deliverDeal(market, other.transactionId);
      const body = { responsePayload: { a: 1 } };
      const elsewhere = await deliver(checkout, { ...body, txHash: transactionHash });
      assertError(elsewhere, 409, "delivery_transaction_mismatch");
      assert.strictEqual(elsewhere.body.details.reason, "otherEscrow");
      const unknown = await deliver(checkout, { ...body, txHash: UNKNOWN_HASH });
      assert.strictEqual(unknown.body.details.reason, "unknown");
      const submit = submitDeliveryCall(target(), checkout.paymentInstructions.escrowId, `0x${"cd".repeat(32)}`);
      const reverted = await chain.sendReverting(market.buyer.account, submit);
      const failed = await deliver(checkout, { ...body, txHash: reverted.transactionHash });
      assertError(failed, 409, "delivery_transaction_mismatch");
      assert.strictEqual(failed.body.details.reason, "failed");
      const own = await openMarket(api, chain);
      const pending = await deliver(checkout, {
        ...body,
        txHash: await chain.sendTooEarly(own.seller.account, submit),
      });
      assertError(pending, 409, "delivery_transaction_mismatch");
      assert.strictEqual(pending.body.details.reason, "pending");
      assert.match(pending.headers.get("retry-after") ?? "", /^\d+$/);
      assert.strictEqual((await stored(checkout))?.responsePayloadJson, null);
    });

    it("refuses a body without a valid payload", async () => {
      const checkout = await fundedDeal(market);
      for (const responsePayload of ["text", ["list"], null, 3]) {
        assertInvalid(await deliver(checkout, { responsePayload }), "body.responsePayload");
      }
      assertInvalid(await deliver(checkout, {}), "body.responsePayload");
      assertInvalid(await deliver(checkout, { responsePayload: {}, deliveryProof: "0x" }), "body.deliveryProof");
    });
  });

  describe("confirm", () => {
    const confirm = (checkout: CheckoutData, agent = market.buyer) => call(agent, "POST", pathOf(checkout, "/confirm"));

    it("[S4.r10] [S4.r10.1] [S4.r10.2] [D18] only reads: an error with the calldata before accept, the transaction after", async () => {
      const checkout = await fundedDeal(market);
      const { escrowId } = checkout.paymentInstructions;
      const early = await confirm(checkout);
      assertError(early, 409, "not_accepted_on_chain");
      const { status, accept, actions } = early.body.details;
      assert.deepEqual([status, accept, actions], ["funded", null, []]);

      await deliverDeal(market, checkout.transactionId);
      await until(
        "delivered",
        async () => (await readTransaction(api, market.buyer, checkout.transactionId)).status === "delivered",
      );
      const stateOf = () => api.container.chains["base-sepolia"].escrowState(escrowId);
      const nonce = () => chain.client.getTransactionCount({ address: market.buyer.walletAddress });
      const before = [await stateOf(), await nonce()];
      const refused = await confirm(checkout);
      assertError(refused, 409, "not_accepted_on_chain");
      assert.deepEqual([await stateOf(), await nonce()], before);
      const { indexedBlock } = await readTransaction(api, market.buyer, checkout.transactionId);
      assert.isAtMost(refused.body.details.indexedBlock, indexedBlock);
      assert.strictEqual(refused.body.details.accept.data, moveCall(target(), "accept", escrowId).data);

      await chain.send(market.buyer.account, refused.body.details.accept);
      const done = await confirm(checkout);
      assert.strictEqual(done.status, 200, done.text);
      assert.strictEqual(done.body.data.status, "released");
      assert.strictEqual(done.body.data.automatic, false);
    });

    it("[D18] of an unfunded checkout is 409, without a call that the chain would refuse", async () => {
      const checkout = await checkOut(market);
      const answer = await confirm(checkout);
      assertError(answer, 409, "not_accepted_on_chain");
      assert.deepEqual([answer.body.details.status, answer.body.details.accept], ["pending_funding", null]);
    });

    it("[D33] is only for the buyer: the seller gets 403", async () => {
      const checkout = await fundedDeal(market);
      assertError(await confirm(checkout, market.seller), 403, "wrong_role");
    });

    it("refuses a body with fields", async () => {
      const checkout = await fundedDeal(market);
      assertInvalid(
        await call(market.buyer, "POST", pathOf(checkout, "/confirm"), { accepted: true }),
        "body.accepted",
      );
    });
  });

  describe("offer next steps", () => {
    const offered = async (agent: TestAgent, checkout: CheckoutData) =>
      (await readTransaction(api, agent, checkout.transactionId)).actions.map((a: { action: string }) => a.action);

    it("[D15] to each party, depending on its role and the escrow's state", async () => {
      const checkout = await fundedDeal(market);
      assert.deepEqual(await offered(market.buyer, checkout), []);
      assert.deepEqual(await offered(market.seller, checkout), ["deliver", "refund"]);
      await deliverDeal(market, checkout.transactionId);
      await until("delivered", async () => (await offered(market.buyer, checkout)).length > 0);
      assert.deepEqual(await offered(market.buyer, checkout), ["accept", "openDispute"]);
      assert.deepEqual(await offered(market.seller, checkout), []);
      await act(api, chain, market.buyer, checkout.transactionId, "openDispute");
      await until(
        "disputed",
        async () => (await readTransaction(api, market.buyer, checkout.transactionId)).status === "disputed",
      );
      assert.deepEqual(await offered(market.buyer, checkout), []);
    });

    it("[D15] tell a seller how to deliver, and what to commit to once the payload is stored", async () => {
      const checkout = await fundedDeal(market);
      const first = await readTransaction(api, market.seller, checkout.transactionId);
      const [deliver] = first.actions;
      assert.deepEqual(
        [deliver.action, deliver.method, deliver.path, deliver.bodySchema.required],
        ["deliver", "POST", pathOf(checkout, "/deliver"), ["responsePayload"]],
      );
      assert.strictEqual(Date.parse(deliver.availableUntil) / 1_000, checkout.paymentInstructions.deadline);
      const { body: description } = await api.request("GET", "/openapi.json");
      const { requestBody } = description.paths["/api/v1/transactions/{id}/deliver"].post;
      const declared = resolve(description, requestBody.content["application/json"].schema);
      assert.deepEqual(Object.keys(deliver.bodySchema.properties), Object.keys(declared.properties));
      assert.deepEqual(deliver.bodySchema.required, declared.required);

      const delivered = await call(market.seller, deliver.method, deliver.path, { responsePayload: { a: 1 } });
      assert.strictEqual(delivered.status, 202, delivered.text);
      assert.deepEqual(await offered(market.seller, checkout), ["submitDelivery", "refund"]);
      const { actions } = await readTransaction(api, market.seller, checkout.transactionId);
      assert.strictEqual(actions[0].data, delivered.body.data.submitDelivery.data);
    });

    it("[D17] allow a seller who first committed to another hash on chain to submit the payload", async () => {
      const checkout = await fundedDeal(market);
      const { escrowId } = checkout.paymentInstructions;
      await chain.send(market.seller.account, submitDeliveryCall(target(), escrowId, `0x${"5d".repeat(32)}`));
      await until("delivered", async () => (await offered(market.buyer, checkout)).includes("accept"));
      assert.deepEqual(await offered(market.seller, checkout), ["deliver"]);
      const { body } = await call(market.seller, "POST", pathOf(checkout, "/deliver"), { responsePayload: { a: 1 } });
      assert.strictEqual(body.data.status, "delivered");
      assert.deepEqual(await offered(market.seller, checkout), []);
    });

    it("[S4.r11] [D19] claimAbandoned returns the buyer's calldata and when it opens", async () => {
      const checkout = await fundedDeal(market);
      const { deadline, abandonmentGrace, escrowId } = checkout.paymentInstructions;
      const { status, body } = await call(market.buyer, "GET", pathOf(checkout, "/claimAbandoned"));
      assert.strictEqual(status, 200);
      assert.deepEqual(body.data, {
        to: chain.deployment.escrow,
        data: moveCall(target(), "claimAbandoned", escrowId).data,
        value: "0",
        chainId: 84_532,
        claimable: false,
        claimableAt: new Date((deadline + abandonmentGrace + 1) * 1000).toISOString(),
        reason: "too_early",
        indexedBlock: body.data.indexedBlock,
      });
      assert.isAtLeast(body.data.indexedBlock, 1);
      assertError(await call(market.seller, "GET", pathOf(checkout, "/claimAbandoned")), 403, "wrong_role");
    });

    it("[D19] finalize returns both parties' calldata and, once delivered, when it opens", async () => {
      const checkout = await fundedDeal(market);
      const early = await call(market.seller, "GET", pathOf(checkout, "/finalize"));
      const { finalizable, finalizableAt, reason } = early.body.data;
      assert.deepEqual([finalizable, finalizableAt, reason], [false, null, "not_delivered"]);
      await deliverDeal(market, checkout.transactionId);
      const data = await until("delivered", async () => {
        const { body } = await call(market.buyer, "GET", pathOf(checkout, "/finalize"));
        return body.data.finalizableAt === null ? undefined : body.data;
      });
      const { deliveredAt } = await readTransaction(api, market.buyer, checkout.transactionId);
      assert.strictEqual(Date.parse(data.finalizableAt) - Date.parse(deliveredAt), (300 + 1) * 1000);
      assert.deepEqual([data.finalizable, data.reason], [false, "too_early"]);
      assert.strictEqual(data.data, moveCall(target(), "finalize", checkout.paymentInstructions.escrowId).data);
    });
  });
});
