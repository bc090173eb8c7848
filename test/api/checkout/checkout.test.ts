import { assert } from "chai";
import { decodeFunctionData, encodeFunctionData, erc20Abi, getAddress, keccak256, stringToBytes } from "viem";

import { escrowAbi } from "../../../api/chain/abis.ts";
import { canonicalJson } from "../../../api/lib/canonical-json.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { checkOut, listService, ONE_USDC, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

describe("checkout", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
  });
  after(() => api.close());

  const order = (fields: Record<string, unknown> = {}, key = market.buyer.apiKey) =>
    api.request("POST", "/api/v1/checkout", {
      key,
      body: { serviceId: market.serviceId, paymentMethod: "usdc", ...fields },
    });
  const setSellerTerms = async ({ seller }: Market, ...args: readonly [bigint, number, boolean]) => {
    const data = encodeFunctionData({ abi: escrowAbi, functionName: "setSellerTerms", args });
    assert.strictEqual((await chain.send(seller.account, { to: chain.deployment.escrow, data })).status, "success");
  };
  const countRecords = () => api.container.features.transactions.models.transactions.countDocuments();

  describe("answers", () => {
    it("[S4.r07] [S2.3.12] [S2.3.21] with a new transaction, its terms and where to fund it", async () => {
      const { body } = await order();
      assert.deepEqual(Object.keys(body.data).sort(), ["paymentInstructions", "transactionId"]);
      const { transactionId, paymentInstructions: terms } = body.data;
      assert.strictEqual((await readTransaction(api, market.buyer, transactionId)).escrowId, terms.escrowId);
      assert.strictEqual(terms.fundEndpoint, `/api/v1/transactions/${transactionId}/fund`);
    });

    it("[S2.3.13] [S2.3.15] [S2.3.16] with the addresses of the escrow contract, the seller and the token", async () => {
      const { paymentInstructions: terms } = await checkOut(market);
      assert.deepEqual(
        [terms.escrowContract, terms.sellerAddress, terms.tokenAddress],
        [chain.deployment.escrow, market.seller.walletAddress, chain.deployment.tokens[0]?.address],
      );
    });

    it("[S2.3.14] [S2.3.20] with an escrow id and a hash of the criteria, both bytes32", async () => {
      const { paymentInstructions: terms } = await checkOut(market);
      for (const value of [terms.escrowId, terms.criteriaHash]) assert.match(value, /^0x[0-9a-f]{64}$/);
    });

    it("[S2.2.08] [S2.3.02] [S2.3.17] [S1.15] with the price of all units in token units, as a decimal string", async () => {
      const one = await checkOut(market, { quantity: 1 });
      assert.strictEqual(one.paymentInstructions.amount, "2500000");
      const three = await checkOut(market, { quantity: 3 });
      assert.strictEqual(three.paymentInstructions.amount, "7500000");
      assert.strictEqual((await checkOut(market)).paymentInstructions.amount, "2500000");
    });

    it("[S2.3.09] with the dispute window that is advised for the deposit's value, while the default stays", async () => {
      const buyer = await api.registerAgent();
      const seller = await api.registerAgent();
      await chain.endow(buyer.account, { usdc: 3_000n * ONE_USDC });
      for (const { walletAddress } of [buyer, seller]) await chain.raiseScore(walletAddress, 100);
      await api.container.features.agents.models.agents.updateOne({ _id: buyer.agentId }, { kyaLevel: 3 });
      for (const [price, advised] of [
        [0.01, 300],
        [25, 300],
        [25.000001, 3_600],
        [1_000, 3_600],
        [1_000.000001, 86_400],
      ] as const) {
        const serviceId = await listService(api, seller, { price });
        const { paymentInstructions: terms } = await checkOut({ ...market, buyer, seller, serviceId });
        assert.deepEqual([terms.recommendedDisputeWindow, terms.disputeWindow], [advised, 300], String(price));
      }
    });

    it("[S2.3.09] [S2.3.11] [S2.3.18] [S2.3.19] with the default windows or the requested ones", async () => {
      const { paymentInstructions: usual } = await checkOut(market);
      assert.deepEqual([usual.disputeWindow, usual.abandonmentGrace], [300, 172_800]);
      const { paymentInstructions: own } = await checkOut(market, { disputeWindow: 86_400, abandonmentGrace: 3_600 });
      assert.deepEqual([own.disputeWindow, own.abandonmentGrace], [86_400, 3_600]);
      const create = own.calls[1];
      assert.ok(create !== undefined);
      const { args } = decodeFunctionData({ abi: escrowAbi, data: create.data as `0x${string}` });
      assert.deepEqual(args.slice(5, 7), [86_400n, 3_600n]);
    });

    it("[D4] with network, deadline, quote and two calls with exactly these terms", async () => {
      const before = Math.floor(Date.now() / 1000);
      const { paymentInstructions: terms } = await checkOut(market, { deliveryDeadlineSeconds: 1_800 });
      assert.deepEqual([terms.network, terms.chainId], ["base-sepolia", 84_532]);
      assert.strictEqual(BigInt(terms.platformFee) + BigInt(terms.refundableAmount), BigInt(terms.amount));
      assert.strictEqual(terms.platformFee, "50000");
      const quoteEnd = Date.parse(terms.quoteExpiresAt) / 1000;
      assert.strictEqual(terms.deadline - quoteEnd, 1_800 - 900);
      assert.ok(quoteEnd >= before + 900, "the quote holds for 15 minutes from the later of both clocks");

      const [approve, create] = terms.calls;
      assert.ok(approve !== undefined && create !== undefined && terms.calls.length === 2);
      assert.strictEqual(approve.to, terms.tokenAddress);
      const approval = decodeFunctionData({ abi: erc20Abi, data: approve.data as `0x${string}` });
      assert.deepEqual(approval.args, [terms.escrowContract, BigInt(terms.amount)]);
      assert.strictEqual(create.to, terms.escrowContract);
      const creation = decodeFunctionData({ abi: escrowAbi, data: create.data as `0x${string}` });
      assert.strictEqual(creation.functionName, "createEscrow");
      assert.deepEqual(creation.args, [
        terms.escrowId,
        getAddress(terms.sellerAddress),
        BigInt(terms.amount),
        getAddress(terms.tokenAddress),
        BigInt(terms.deadline),
        300n,
        172_800n,
        terms.criteriaHash,
      ]);
    });

    it("[D4] with a new escrow id each time", async () => {
      const [one, two] = await Promise.all([checkOut(market), checkOut(market)]);
      assert.notStrictEqual(one.paymentInstructions.escrowId, two.paymentInstructions.escrowId);
      assert.notStrictEqual(one.transactionId, two.transactionId);
    });

    it("[D5] [S2.3.07] with the hash of a criteria document that contains the request unchanged", async () => {
      const requestPayload = { z: [1, { "$a.b": null }], a: "ü", n: 1.5e-7, deep: { __proto__x: true } };
      const criteria = { schema: { type: "object" }, checks: ["names every risk"] };
      const { transactionId, paymentInstructions } = await checkOut(market, { requestPayload, criteria });
      const path = `/api/v1/transactions/${transactionId}`;
      const { body } = await api.request("GET", `${path}/criteria`, { key: market.buyer.apiKey });
      assert.strictEqual(body.data.criteriaHash, paymentInstructions.criteriaHash);
      assert.strictEqual(keccak256(stringToBytes(canonicalJson(body.data.criteria))), paymentInstructions.criteriaHash);
      assert.deepEqual(body.data.criteria.requestPayload, requestPayload);
      assert.deepEqual(body.data.criteria.criteria, criteria);
      const read = await api.request("GET", path, { key: market.buyer.apiKey });
      assert.deepEqual(read.body.data.requestPayload, requestPayload);
    });

    it("[S2.3.22] [D15] with a pending transaction that names its fee platformFee and never buyerFee", async () => {
      const { transactionId } = await checkOut(market);
      const answer = await api.request("GET", `/api/v1/transactions/${transactionId}`, { key: market.buyer.apiKey });
      assert.strictEqual(answer.body.data.status, "pending_funding");
      assert.strictEqual(answer.body.data.platformFee, "50000");
      assert.ok(!answer.text.includes("buyerFee"));
      assert.deepEqual(
        answer.body.data.actions.map(({ action }: { action: string }) => action),
        ["approve", "createEscrow"],
      );
    });
  });

  describe("refuses a body", () => {
    it("[S2.3.01] [S2.3.03] without serviceId and paymentMethod, naming both", async () => {
      const before = await countRecords();
      assertInvalid(
        await api.request("POST", "/api/v1/checkout", { key: market.buyer.apiKey, body: {} }),
        "body.serviceId",
        "body.paymentMethod",
      );
      assertInvalid(await order({ serviceId: 7, paymentMethod: 1 }), "body.serviceId", "body.paymentMethod");
      assertInvalid(await order({ paymentMethod: "USDC" }), "body.paymentMethod");
      assert.strictEqual(await countRecords(), before);
    });

    it("[S2.3.02] [S2.3.06] [S2.3.08] [S2.3.10] with values outside their bounds", async () => {
      const before = await countRecords();
      for (const quantity of [1.5, 0, -1, "1", 1_000_001, null])
        assertInvalid(await order({ quantity }), "body.quantity");
      for (const callbackUrl of ["not a url", "ftp://example.com/x", 5]) {
        assertInvalid(await order({ callbackUrl }), "body.callbackUrl");
      }
      for (const disputeWindow of [299, 86_401, 300.5, "300"]) {
        assertInvalid(await order({ disputeWindow }), "body.disputeWindow");
      }
      for (const abandonmentGrace of [3_599, 2_592_001, 3_600.5, "3600"]) {
        assertInvalid(await order({ abandonmentGrace }), "body.abandonmentGrace");
      }
      for (const deliveryDeadlineSeconds of [1_799, 2_592_001]) {
        assertInvalid(await order({ deliveryDeadlineSeconds }), "body.deliveryDeadlineSeconds");
      }
      for (const requestPayload of ["text", [1], null, 5])
        assertInvalid(await order({ requestPayload }), "body.requestPayload");
      assertInvalid(await order({ network: "polygon" }), "body.network");
      assertInvalid(await order({ criteria: { schema: { type: "nonsense" } } }), "body.criteria.schema");
      assertInvalid(await order({ criteria: { checks: [""] } }), "body.criteria.checks.0");
      assert.strictEqual(await countRecords(), before);
    });

    it("[S2.3.08] [S2.3.10] but accepts the bounds themselves", async () => {
      for (const fields of [
        { disputeWindow: 300 },
        { disputeWindow: 86_400 },
        { abandonmentGrace: 3_600 },
        { abandonmentGrace: 2_592_000 },
      ]) {
        await checkOut(market, fields);
      }
    });

    it("[D24] with unknown fields, one issue each", async () => {
      assertInvalid(await order({ buyerAgentId: "agt_x", amount: "1" }), "body.buyerAgentId", "body.amount");
    });

    it("with numbers too large for JSON, endless nesting, or too many bytes", async () => {
      const send = (rawBody: string) => api.request("POST", "/api/v1/checkout", { key: market.buyer.apiKey, rawBody });
      const wrap = (payload: string) =>
        `{"serviceId":"${market.serviceId}","paymentMethod":"usdc","requestPayload":${payload}}`;
      assertError(await send(wrap('{"n":1e999}')), 400, "validation_error");
      assertError(await send(wrap(`${'{"a":'.repeat(40)}1${"}".repeat(40)}`)), 400, "validation_error");
      assertError(await send(wrap('{"s":"\\ud800"}')), 400, "validation_error");
      assertError(await send(wrap(`{"s":"${"x".repeat(260 * 1024)}"}`)), 413, "payload_too_large");
      assertError(await send("{"), 400, "malformed_json");
    });
  });

  describe("refuses an order", () => {
    it("without a key or with a malformed one", async () => {
      const body = { serviceId: market.serviceId, paymentMethod: "usdc" };
      assertError(await api.request("POST", "/api/v1/checkout", { body }), 401, "invalid_api_key");
      assertError(await order({}, `svc_${"0".repeat(64)}`), 401, "invalid_api_key");
    });

    it("for a service that doesn't exist", async () => {
      assertError(await order({ serviceId: `lst_${"0".repeat(32)}` }), 404, "not_found");
    });

    it("[S2.3.04] without callbackUrl where the service requires one", async () => {
      const serviceId = await listService(api, market.seller, { callbackRequired: true });
      assertError(await order({ serviceId }), 400, "callback_url_required");
      await checkOut(market, { serviceId, callbackUrl: "https://buyer.example/hook" });
    });

    it("[S2.3.05] but not one without callbackUrl where the service doesn't require it", async () => {
      await checkOut(market);
    });

    it("[D33] for a paused or archived listing", async () => {
      const serviceId = await listService(api, market.seller);
      const path = `/api/v1/services/${serviceId}`;
      await api.request("PATCH", path, { key: market.seller.apiKey, body: { status: "paused" } });
      assertError(await order({ serviceId }), 409, "service_not_active");
      await api.request("DELETE", path, { key: market.seller.apiKey });
      assertError(await order({ serviceId }), 409, "service_not_active");
    });

    it("[D33] for the caller's own listing", async () => {
      assertError(await order({}, market.seller.apiKey), 409, "self_purchase");
    });

    it("[S1.19] [D3] on a network other than the listing's", async () => {
      const answer = await order({ network: "base" });
      assertError(answer, 409, "network_mismatch");
      assert.deepEqual(answer.body.details, { serviceNetwork: "base-sepolia", requestedNetwork: "base" });
      await checkOut(market, { network: "base-sepolia" });
    });

    it("[D2] that no escrow token can settle", async () => {
      const pol = await listService(api, market.seller, { currency: "POL" });
      assertError(await order({ serviceId: pol }), 422, "currency_not_settleable");
      const ether = await listService(api, market.seller, { currency: "ETH", price: 0.001 });
      assertError(await order({ serviceId: ether, paymentMethod: "weth" }), 422, "currency_not_settleable");
      assertError(await order({ paymentMethod: "dai" }), 422, "payment_method_not_supported");
      assertError(await order({ paymentMethod: "weth" }), 422, "payment_method_not_supported");
    });

    it("[D10] for less than a token's minimum deposit", async () => {
      const serviceId = await listService(api, market.seller, { price: 0.009999 });
      const answer = await order({ serviceId });
      assertError(answer, 422, "amount_out_of_range");
      assert.strictEqual(answer.body.details.minimum, "10000");
      const least = await listService(api, market.seller, { price: 0.01 });
      await checkOut(market, { serviceId: least });
    });

    it("[D10] against the seller's own terms on chain", async () => {
      const own = await openMarket(api, chain);
      const ask = (fields: Record<string, unknown> = {}) =>
        order({ serviceId: own.serviceId, ...fields }, own.buyer.apiKey);
      await setSellerTerms(own, 0n, 0, true);
      assertError(await ask(), 409, "seller_terms_not_met");
      await setSellerTerms(own, 2_500_001n, 0, false);
      const tooSmall = await ask();
      assertError(tooSmall, 409, "seller_terms_not_met");
      const { minAmountDollars, valueDollars } = tooSmall.body.details;
      assert.deepEqual([minAmountDollars, valueDollars], ["2.500001", "2.5"]);
      await setSellerTerms(own, 2_500_000n, 0, false);
      assert.strictEqual((await ask()).status, 200);
    });

    it("[D10] that leaves the seller less than its minimum time when it is funded at the quote's end", async () => {
      const own = await openMarket(api, chain);
      const ask = (deliveryDeadlineSeconds: number) =>
        order({ serviceId: own.serviceId, deliveryDeadlineSeconds }, own.buyer.apiKey);
      await setSellerTerms(own, 0n, 3_600, false);
      for (const tooShort of [1_800, 3_600, 4_499]) {
        const answer = await ask(tooShort);
        assertError(answer, 409, "seller_terms_not_met");
        assert.strictEqual(answer.body.details.minDeliverySeconds, 3_600);
        assert.strictEqual(answer.body.details.minDeliveryDeadlineSeconds, 4_500);
      }

      const checkout = await checkOut(own, { deliveryDeadlineSeconds: 4_500 });
      const [approve, create] = checkout.paymentInstructions.calls;
      assert.ok(approve !== undefined && create !== undefined);
      await chain.send(own.buyer.account, approve);
      const { functionName, args } = decodeFunctionData({ abi: escrowAbi, data: create.data as `0x${string}` });
      assert.ok(functionName === "createEscrow");
      const quoteEnd = BigInt(Date.parse(checkout.paymentInstructions.quoteExpiresAt) / 1000);
      /** Asks the chain whether it would accept the escrow in a block at this time. */
      const fundAt = (time: bigint) => {
        const call = { address: chain.deployment.escrow, abi: escrowAbi, functionName, args } as const;
        return chain.client.simulateContract({ ...call, account: own.buyer.account, blockOverrides: { time } });
      };
      await fundAt(quoteEnd);
      await assert.isRejected(fundAt(quoteEnd + 1n), /DeliveryTimeBelowSellerMinimum/);
    });

    it("[S7.15] [D33] from a wallet that lacks the token, with the required amount and the balance", async () => {
      const poor = await api.registerAgent();
      await chain.endow(poor.account, { usdc: 2n * ONE_USDC });
      const answer = await order({}, poor.apiKey);
      assertError(answer, 402, "insufficient_token_balance");
      assert.deepEqual(answer.body.details, {
        token: chain.deployment.tokens[0]?.address,
        required: "2500000",
        balance: "2000000",
      });
      assert.strictEqual(answer.body.payment, undefined);
    });

    it("from a wallet with a token unit less than the deposit, but accepts one with exactly that", async () => {
      const buyer = await api.registerAgent();
      await chain.endow(buyer.account, { usdc: 2_499_999n });
      assertError(await order({}, buyer.apiKey), 402, "insufficient_token_balance");
      await chain.endow(buyer.account, { usdc: 1n });
      assert.strictEqual((await order({}, buyer.apiKey)).status, 200);
    });

    it("[D11] above the cap of both scores, but accepts one at the cap", async () => {
      const before = await countRecords();
      const dear = await listService(api, market.seller, { price: 10.000001 });
      const answer = await order({ serviceId: dear });
      assertError(answer, 403, "job_value_cap_exceeded");
      assert.strictEqual(answer.body.details.valueUsd, "10000001");
      assert.strictEqual(answer.body.details.capUsd, "10000000");
      const { valueDollars, capDollars } = answer.body.details;
      assert.deepEqual([valueDollars, capDollars], ["10.000001", "10"]);
      assert.strictEqual(await countRecords(), before);
      await checkOut(market, { serviceId: await listService(api, market.seller, { price: 10 }) });
    });

    it("[D11] above the lower of the two caps, whether it is the buyer's or the seller's", async () => {
      const rich = await openMarket(api, chain, { price: 20 });
      await chain.raiseScore(rich.buyer.walletAddress, 10);
      const body = { serviceId: rich.serviceId, paymentMethod: "usdc" };
      const answer = await api.request("POST", "/api/v1/checkout", { key: rich.buyer.apiKey, body });
      assertError(answer, 403, "job_value_cap_exceeded");
      assert.strictEqual(answer.body.details.cappedWallet, rich.seller.walletAddress);
      await chain.raiseScore(rich.seller.walletAddress, 10);
      assert.strictEqual((await checkOut(rich)).paymentInstructions.amount, "20000000");
    });
  });
});
