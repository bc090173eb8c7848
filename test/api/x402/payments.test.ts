// The 402 of an exhausted budget, and calls that are paid for.
import { randomUUID } from "node:crypto";

import { decodePaymentRequiredHeader } from "@x402/core/http";
import { assert } from "chai";
import { encodeFunctionData, erc20Abi, zeroAddress } from "viem";

import { paymentRequiredOutput } from "../../../api/http/payment-required.ts";
import { MULTICALL3 } from "../../../deploy/run/local-tokens.ts";
import { assertError, listingBody } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import {
  CALL_UNITS,
  headerOfTransfer,
  headerV1,
  headerV2,
  pay,
  signTransfer,
  startPaidApi,
} from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";

const SERVICES = "/api/v1/services";
const multicallAbi = [
  {
    type: "function",
    name: "aggregate3",
    stateMutability: "payable",
    inputs: [
      {
        name: "calls",
        type: "tuple[]",
        components: [
          { name: "target", type: "address" },
          { name: "allowFailure", type: "bool" },
          { name: "callData", type: "bytes" },
        ],
      },
    ],
    outputs: [],
  },
] as const;

/** Prices of section 8.3 with a call of each class. */
const PRICES = [
  ["[S8.3.10] api", "GET", SERVICES, undefined, "api", "$0.0001"],
  [
    "[S8.3.11] transaction",
    "POST",
    "/api/v1/checkout",
    { serviceId: "x", paymentMethod: "usdc" },
    "transaction",
    "$0.0001",
  ],
  ["[S8.3.13] search by q", "GET", `${SERVICES}?q=invoices`, undefined, "search", "$0.01"],
  ["[S8.3.13] discover", "POST", "/api/v1/discover", { query: "invoices" }, "search", "$0.01"],
] as const;

describe("the 402 of an exhausted budget", () => {
  let paid: PaidApi;
  let agent: TestAgent;

  before(async () => {
    paid = await startPaidApi();
    agent = await paid.api.registerAgent();
  });
  after(() => paid.close());

  for (const [what, method, path, body, type, price] of PRICES) {
    it(`names the price of a call: ${what} ${price}`, async () => {
      const answer = await paid.api.request(method, path, { key: agent.apiKey, body });
      assert.strictEqual(answer.status, 402, answer.text);
      const { budget, payment } = paymentRequiredOutput.parse(answer.body);
      assert.strictEqual(budget?.type, type);
      assert.strictEqual(payment.price, price);
    });
  }

  it("has the budget and the payment of section 7 [S7.05] [S7.06] [S7.07] [S7.08]", async () => {
    const { body } = await paid.api.request("GET", SERVICES, { key: agent.apiKey });
    const { error, message, budget, payment } = body;
    assert.strictEqual(error, "PAYMENT_REQUIRED");
    assert.isString(message);
    const midnight = new Date();
    midnight.setUTCHours(24, 0, 0, 0);
    assert.deepEqual(budget, { type: "api", used: 0, limit: 0, resetAt: midnight.toISOString() });
    const keys = ["available", "facilitatorUrl", "instructions", "network", "payTo", "price"];
    assert.deepEqual(Object.keys(payment as object).sort(), keys);
    assert.match(payment.price, /^\$\d+(\.\d+)?$/);
  });

  it("names network, recipient and the way to pay [S7.09] [S7.10] [S7.11] [S7.13]", async () => {
    const { payment } = (await paid.api.request("GET", SERVICES, { key: agent.apiKey })).body;
    assert.strictEqual(payment.network, "eip155:84532");
    assert.strictEqual(payment.payTo, paid.payTo);
    assert.strictEqual(payment.available, true);
    assert.include(payment.instructions, paid.payTo);
    assert.include(payment.instructions, "X-PAYMENT");
  });

  it("has the facilitator's URL, or null [S7.12]", async () => {
    const { payment } = (await paid.api.request("GET", SERVICES, { key: agent.apiKey })).body;
    assert.isNull(payment.facilitatorUrl);
    const url = "http://127.0.0.1:9/facilitator";
    const other = await startPaidApi({ x402: { facilitatorUrl: url } });
    try {
      const { apiKey } = await other.api.registerAgent();
      assert.strictEqual((await other.api.request("GET", SERVICES, { key: apiKey })).body.payment.facilitatorUrl, url);
    } finally {
      await other.close();
    }
  });

  it("says the same to both versions of x402 [D36]", async () => {
    const { body, headers } = await paid.api.request("GET", SERVICES, { key: agent.apiKey });
    const facts = { scheme: "exact", payTo: paid.payTo, asset: paid.usdc, maxTimeoutSeconds: 300 };
    const extra = { name: "USDC", version: "2" };
    assert.strictEqual(body.x402Version, 1);
    assert.deepInclude(body.accepts[0], { ...facts, extra, network: "base-sepolia", maxAmountRequired: "100" });
    assert.strictEqual(body.accepts[0].resource, `https://market.test${SERVICES}`);
    const required = decodePaymentRequiredHeader(headers.get("payment-required") ?? "");
    assert.strictEqual(required.x402Version, 2);
    assert.deepInclude(required.accepts[0] as object, { ...facts, extra, network: "eip155:84532", amount: "100" });
  });

  it("without a recipient: available false, the zero address, and no payment helps [S7.14] [D36]", async () => {
    const closed = await startPaidApi({ x402: { payTo: undefined, facilitatorUrl: null } });
    try {
      const payer = await closed.richAgent();
      const first = await closed.api.request("GET", SERVICES, { key: payer.apiKey });
      assert.strictEqual(first.body.payment.available, false);
      assert.strictEqual(first.body.payment.payTo, zeroAddress);
      assert.isUndefined(first.body.accepts);
      assert.isNull(first.headers.get("payment-required"));
      const payload = await signTransfer({ ...closed, payTo: zeroAddress }, payer.account);
      const again = await closed.api.request("GET", SERVICES, { key: payer.apiKey, headers: headerV1(payload) });
      assert.strictEqual(again.status, 402);
      assert.strictEqual(await closed.chain.usdcOf(payer.walletAddress), 1_000_000_000n);
    } finally {
      await closed.close();
    }
  });
});

describe("a call that is paid for", () => {
  let paid: PaidApi;
  let agent: TestAgent;

  before(async () => {
    paid = await startPaidApi();
    agent = await paid.richAgent();
  });
  after(() => paid.close());

  const get = (headers: Record<string, string>, path = SERVICES) =>
    paid.api.request("GET", path, { key: agent.apiKey, headers });

  it("is served for a transfer that the caller sent himself, with either name of the network [S8.3.14] [S8.3.16]", async () => {
    for (const network of ["base-sepolia", "eip155:84532"]) {
      const txHash = await pay(paid, agent.account);
      const answer = await get(headerOfTransfer(txHash, agent.walletAddress, { network }));
      assert.strictEqual(answer.status, 200, answer.text);
      const receipt = JSON.parse(
        Buffer.from(answer.headers.get("x-payment-response") ?? "", "base64").toString(),
      ) as object;
      assert.deepInclude(receipt, { success: true, transaction: txHash, network: "base-sepolia" });
    }
  });

  it("is served once for each of several transfers in one transaction [D36]", async () => {
    const approve = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [MULTICALL3, 1_000n] });
    await paid.chain.send(agent.account, { to: paid.usdc, data: approve });
    const transfer = encodeFunctionData({
      abi: erc20Abi,
      functionName: "transferFrom",
      args: [agent.walletAddress, paid.payTo, CALL_UNITS.api],
    });
    const one = { target: paid.usdc, allowFailure: false, callData: transfer };
    const data = encodeFunctionData({ abi: multicallAbi, functionName: "aggregate3", args: [[one, one]] });
    const { transactionHash } = await paid.chain.send(agent.account, { to: MULTICALL3, data });
    const proof = headerOfTransfer(transactionHash, agent.walletAddress);
    const paths = [SERVICES, SERVICES, `${SERVICES}?limit=7`];
    const statuses = [];
    for (const path of paths) statuses.push((await get(proof, path)).status);
    assert.deepEqual(statuses, [200, 200, 402]);
  });

  it("costs nothing if it fails: the payment is free for another call", async () => {
    const had = await paid.chain.usdcOf(agent.walletAddress);
    const signed = await signTransfer(paid, agent.account);
    const txHash = await pay(paid, agent.account);
    const proofs = [headerV1(signed), headerOfTransfer(txHash, agent.walletAddress)];
    for (const proof of proofs) {
      assert.strictEqual((await get(proof, `${SERVICES}/lst_unknown`)).status, 404);
    }
    assert.strictEqual(had - (await paid.chain.usdcOf(agent.walletAddress)), CALL_UNITS.api);
    const claims = paid.api.container.connection.collection("x402_claims");
    assert.strictEqual(await claims.countDocuments({ state: { $ne: "spent" } }), 0);
    for (const proof of proofs) assert.strictEqual((await get(proof)).status, 200);
    assert.strictEqual(had - (await paid.chain.usdcOf(agent.walletAddress)), 2n * CALL_UNITS.api);
  });

  it("that is invalid is refused before any payment is looked at", async () => {
    const signed = await signTransfer(paid, agent.account);
    const answer = await paid.api.request("POST", SERVICES, { key: agent.apiKey, headers: headerV1(signed), body: {} });
    assert.strictEqual(answer.status, 400);
    assert.strictEqual((await get(headerV1(signed))).status, 200);
  });

  it("leaves a proof alone while there is budget", async () => {
    const open = await startPaidApi({ dailyCalls: 1 });
    try {
      const payer = await open.richAgent();
      const proof = headerV2(open, await signTransfer(open, payer.account));
      const read = () => open.api.request("GET", SERVICES, { key: payer.apiKey, headers: proof });
      const free = await read();
      assert.strictEqual(free.status, 200);
      assert.isNull(free.headers.get("payment-response"));
      assert.strictEqual(await open.chain.usdcOf(open.payTo), 0n);
      const bought = await read();
      assert.strictEqual(bought.status, 200, bought.text);
      assert.isNotNull(bought.headers.get("payment-response"));
      assert.strictEqual(await open.chain.usdcOf(open.payTo), CALL_UNITS.api);
    } finally {
      await open.close();
    }
  });

  it("leaves nothing secret behind when it reads a secret", async () => {
    const read = (path: string, headers: Record<string, string>) =>
      paid.api.request("GET", path, { key: agent.apiKey, headers });
    const secret = await read("/api/v1/webhooks/secret", headerV1(await signTransfer(paid, agent.account)));
    assert.strictEqual(secret.status, 200, secret.text);
    // An answer that may be kept shows that the collection is the right one.
    const open = await read(SERVICES, headerV1(await signTransfer(paid, agent.account)));
    const kept = await paid.api.container.connection.collection("x402_answers").find().toArray();
    assert.include(
      kept.map(({ body }) => body as string),
      open.text,
    );
    assert.notInclude(JSON.stringify(kept), secret.body.data.secret as string);
  });

  it("with an Idempotency-Key is paid for once and creates once [D43]", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const create = (proof: Record<string, string>) =>
      paid.api.request("POST", SERVICES, { key: agent.apiKey, body: listingBody(), headers: { ...headers, ...proof } });
    const had = await paid.chain.usdcOf(agent.walletAddress);
    const first = await create(headerV1(await signTransfer(paid, agent.account)));
    assert.strictEqual(first.status, 201, first.text);
    // A client that lost the answer pays again; that payment isn't touched.
    const again = await create(headerV1(await signTransfer(paid, agent.account)));
    assert.deepEqual(again.body, first.body);
    assert.strictEqual((await create({})).status, 201);
    assert.strictEqual(had - (await paid.chain.usdcOf(agent.walletAddress)), CALL_UNITS.api);
  });

  describe("with an Idempotency-Key whose process was killed after the payment", () => {
    const post = (path: string, body: object, key: string, proof: Record<string, string> = {}) =>
      paid.api.request("POST", path, { key: agent.apiKey, body, headers: { "idempotency-key": key, ...proof } });
    const signed = async () => headerV1(await signTransfer(paid, agent.account));
    /** Leaves the keys as a process does that was killed before it noted an answer. */
    const forgetAnswers = () =>
      paid.api.container.connection
        .collection("idempotency_keys")
        .updateMany({}, { $set: { state: "open", leaseEndsAt: new Date(0), answer: null } });

    it("gets its answer without a payment, and another payment isn't touched [D43]", async () => {
      const [key, body] = [randomUUID(), listingBody()];
      const had = await paid.chain.usdcOf(agent.walletAddress);
      const first = await post(SERVICES, body, key, await signed());
      assert.strictEqual(first.status, 201, first.text);
      const proofs: Record<string, string>[] = [{}, await signed()];
      for (const proof of proofs) {
        await forgetAnswers();
        const again = await post(SERVICES, body, key, proof);
        assert.deepEqual([again.status, again.body], [201, first.body], again.text);
        assert.isNotNull(again.headers.get("x-payment-response"));
      }
      assert.strictEqual(had - (await paid.chain.usdcOf(agent.walletAddress)), CALL_UNITS.api);
    });

    it("is paid for under another key, however often that is repeated", async () => {
      const body = listingBody();
      assert.strictEqual((await post(SERVICES, body, randomUUID(), await signed())).status, 201);
      const other = randomUUID();
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const answer = await post(SERVICES, body, other);
        assert.deepEqual([answer.status, answer.body.code], [402, "payment_required"], answer.text);
      }
    });

    it("is told that it was processed if its answer is secret", async () => {
      const [path, key] = ["/api/v1/webhooks/secret/rotate", randomUUID()];
      const first = await post(path, {}, key, await signed());
      assert.strictEqual(first.status, 200, first.text);
      await forgetAnswers();
      assertError(await post(path, {}, key), 409, "already_processed");
    });
  });
});
