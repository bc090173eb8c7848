// Proofs that don't count: each is answered with the 402 of section 7, and nothing is spent.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { encodeFunctionData, erc20Abi, parseAbi } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { CLAIM_TIMINGS, createClaims } from "../../../api/features/x402/claims.ts";
import { paymentRequiredOutput } from "../../../api/http/payment-required.ts";
import { listingBody } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import {
  CALL_UNITS,
  cancel,
  encodeHeader,
  headerOfTransfer,
  headerV1,
  headerV2,
  pay,
  signTransfer,
  startPaidApi,
} from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";

const PATH = "/api/v1/services";
const OTHER_PATH = `${PATH}?limit=7`;
/** Reasons of a payment that has paid for a call, or is about to. */
const PAYS_ALREADY = ["proof_already_used", "proof_in_use"];
const FAILED = "x402 payment verification failed";
const THOUSAND_USDC = 1_000_000_000n;
const transferAbi = parseAbi([
  "function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, bytes)",
]);

describe("an x402 proof that doesn't count", () => {
  let paid: PaidApi;
  let agent: TestAgent;

  before(async () => {
    paid = await startPaidApi();
    agent = await paid.richAgent();
  });
  after(() => paid.close());

  const call = (headers: Record<string, string>, key = agent.apiKey, path = PATH) =>
    fetch(paid.url + path, { headers: { "x-api-key": key, ...headers } });

  /** Asserts the 402 of a failed verification, and that the API has reserved and taken nothing. */
  async function assertRefused(
    headers: Record<string, string>,
    reason: string,
    key?: string,
    path?: string,
    price = "$0.0001",
  ): Promise<void> {
    const claims = paid.api.container.connection.collection("x402_claims");
    const before = await claims.countDocuments();
    const received = await paid.chain.usdcOf(paid.payTo);
    const answer = await call(headers, key, path);
    const text = await answer.text();
    assert.strictEqual(answer.status, 402, text);
    const body = paymentRequiredOutput.parse(JSON.parse(text));
    assert.strictEqual(body.error, "PAYMENT_REQUIRED");
    assert.strictEqual(body.message, FAILED);
    assert.strictEqual(body.code, "payment_verification_failed");
    assert.deepEqual(body.details, { reason });
    assert.strictEqual(body.payment.price, price);
    const asksForAnother = !PAYS_ALREADY.includes(reason);
    assert.strictEqual(body.accepts?.length, asksForAnother ? 1 : undefined);
    assert.strictEqual(answer.headers.has("payment-required"), asksForAnother);
    assert.strictEqual(await claims.countDocuments(), before);
    assert.strictEqual(await paid.chain.usdcOf(paid.payTo), received);
  }

  /** Of requests with one payment, those that come while it pays are refused, and later ones get the same answer. */
  async function assertServedOnce(answers: readonly Response[]): Promise<void> {
    const served = answers.filter(({ status }) => status === 200);
    assert.isNotEmpty(served);
    assert.strictEqual(new Set(await Promise.all(served.map((answer) => answer.text()))).size, 1);
    for (const answer of answers.filter((each) => !served.includes(each))) {
      assert.strictEqual(answer.status, 402);
      const { code, details } = (await answer.json()) as { code: string; details: { reason?: string } };
      assert.include([...PAYS_ALREADY, "settlement_pending"], details.reason ?? code);
    }
  }

  const both = async (fields: Parameters<typeof signTransfer>[2]) => {
    const payload = await signTransfer(paid, agent.account, fields);
    return [headerV1(payload), headerV2(paid, payload)];
  };

  describe("signed for an official client", () => {
    for (const [what, value] of [
      ["less", CALL_UNITS.api - 1n],
      ["more", CALL_UNITS.api + 1n],
    ] as const) {
      it(`with ${what} than the price [S8.3.17] [S7.18]`, async () => {
        for (const headers of await both({ value })) await assertRefused(headers, "wrong_amount");
      });
    }

    it("with another price in what version 2 accepted", async () => {
      const payload = await signTransfer(paid, agent.account);
      await assertRefused(headerV2(paid, payload, { amount: "99" }), "wrong_amount");
    });

    it("to another recipient", async () => {
      for (const headers of await both({ to: agent.walletAddress })) await assertRefused(headers, "wrong_recipient");
      const payload = await signTransfer(paid, agent.account);
      await assertRefused(headerV2(paid, payload, { payTo: agent.walletAddress }), "wrong_recipient");
    });

    it("in another token [S8.3.15]", async () => {
      const weth = "0x4200000000000000000000000000000000000006";
      for (const headers of await both({ token: weth })) await assertRefused(headers, "invalid_signature");
      const payload = await signTransfer(paid, agent.account);
      await assertRefused(headerV2(paid, payload, { asset: weth }), "wrong_token");
    });

    it("on another network, or signed for one [S8.3.15]", async () => {
      const payload = await signTransfer(paid, agent.account);
      await assertRefused(headerV1(payload, { network: "base" }), "wrong_network");
      await assertRefused(headerV2(paid, payload, { network: "eip155:8453" }), "wrong_network");
      for (const headers of await both({ network: "base" })) await assertRefused(headers, "invalid_signature");
    });

    it("by a wallet that isn't the caller's", async () => {
      const other = await paid.richAgent();
      const payload = await signTransfer(paid, other.account);
      await assertRefused(headerV1(payload), "wrong_sender");
      await assertRefused(headerV2(paid, payload), "wrong_sender");
    });

    it("by another key in the name of the caller's wallet", async () => {
      const signer = privateKeyToAccount(generatePrivateKey());
      for (const headers of await both({ signer })) await assertRefused(headers, "invalid_signature");
    });

    it("that stays valid for ever", async () => {
      for (const headers of await both({ validBefore: 2 ** 53 })) await assertRefused(headers, "valid_too_long");
    });

    it("expired, and not yet valid", async () => {
      const now = Math.floor(Date.now() / 1000);
      for (const headers of await both({ validBefore: now - 1 })) await assertRefused(headers, "expired");
      for (const headers of await both({ validBefore: now + 29 })) await assertRefused(headers, "expired");
      for (const headers of await both({ validAfter: now + 60 })) await assertRefused(headers, "not_yet_valid");
    });

    it("without the money", async () => {
      const poor = await paid.api.registerAgent();
      const payload = await signTransfer(paid, poor.account);
      await assertRefused(headerV1(payload), "insufficient_balance", poor.apiKey);
      await assertRefused(headerV2(paid, payload), "insufficient_balance", poor.apiKey);
    });

    it("cancelled, or used by the payer himself", async () => {
      const cancelled = await signTransfer(paid, agent.account);
      await cancel(paid, agent.account, cancelled);
      await assertRefused(headerV1(cancelled), "authorization_used");
      await assertRefused(headerV2(paid, cancelled), "authorization_used");

      const used = await signTransfer(paid, agent.account);
      const { from, to, value, validAfter, validBefore, nonce } = used.authorization;
      const data = encodeFunctionData({
        abi: transferAbi,
        functionName: "transferWithAuthorization",
        args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, used.signature],
      });
      const { transactionHash } = await paid.chain.send(agent.account, { to: paid.usdc, data });
      await assertRefused(headerV1(used), "authorization_used");
      // The money has arrived, so its transaction is a proof.
      assert.strictEqual((await call(headerOfTransfer(transactionHash, from))).status, 200);
      for (const headers of [headerV1(used), headerV2(paid, used)]) await assertRefused(headers, "proof_already_used");
      await assertRefused(headerOfTransfer(transactionHash, from), "proof_already_used", undefined, OTHER_PATH);
    });
  });

  describe("with a transaction hash [S8.3.16]", () => {
    for (const [what, value] of [
      ["less", CALL_UNITS.api - 1n],
      ["more", CALL_UNITS.api + 1n],
    ] as const) {
      it(`of ${what} than the price [S8.3.17] [S7.18]`, async () => {
        const txHash = await pay(paid, agent.account, { value });
        await assertRefused(headerOfTransfer(txHash, agent.walletAddress), "wrong_amount");
      });
    }

    it("to another recipient", async () => {
      const txHash = await pay(paid, agent.account, { to: privateKeyToAccount(generatePrivateKey()).address });
      await assertRefused(headerOfTransfer(txHash, agent.walletAddress), "wrong_recipient");
    });

    it("in another token [S8.3.15]", async () => {
      const onBase = await startPaidApi({ network: "base" });
      try {
        const payer = await onBase.api.registerAgent();
        await onBase.chain.endow(payer.account, { weth: 1_000n });
        const weth = onBase.chain.deployment.tokens.find(({ symbol }) => symbol === "WETH")?.address ?? "0x";
        const txHash = await pay(onBase, payer.account, { token: weth });
        const proof = headerOfTransfer(txHash, payer.walletAddress, { network: "base" });
        const answer = await fetch(onBase.url + PATH, { headers: { "x-api-key": payer.apiKey, ...proof } });
        assert.deepInclude((await answer.json()) as object, { message: FAILED, details: { reason: "wrong_token" } });
      } finally {
        await onBase.close();
      }
    });

    it("without any transfer", async () => {
      const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [paid.payTo, 100n] });
      const { transactionHash } = await paid.chain.send(agent.account, { to: paid.usdc, data });
      await assertRefused(headerOfTransfer(transactionHash, agent.walletAddress), "no_transfer");
    });

    it("that names another network, or is on another one [S8.3.15]", async () => {
      const txHash = await pay(paid, agent.account);
      const { walletAddress } = agent;
      for (const network of ["base", "eip155:8453", "eip155:1", ""]) {
        await assertRefused(headerOfTransfer(txHash, walletAddress, { network }), "wrong_network");
      }
      const base = await openChain("base");
      const units = { usdc: CALL_UNITS.api };
      await base.endow(agent.account, units);
      const usdc = base.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
      const elsewhere = await pay({ chain: base, usdc, payTo: paid.payTo }, agent.account);
      const unknown = `0x${randomBytes(32).toString("hex")}`;
      for (const hash of [elsewhere, unknown]) {
        await assertRefused(headerOfTransfer(hash, walletAddress), "transaction_not_found");
      }
    });

    it("of a foreign wallet, in its own name or in the caller's", async () => {
      const other = await paid.richAgent();
      const txHash = await pay(paid, other.account);
      await assertRefused(headerOfTransfer(txHash, other.walletAddress), "wrong_sender");
      await assertRefused(headerOfTransfer(txHash, agent.walletAddress), "wrong_sender");
      assert.strictEqual((await call(headerOfTransfer(txHash, other.walletAddress), other.apiKey)).status, 200);
    });

    it("that isn't confirmed yet: it counts once it is", async () => {
      const payer = await paid.richAgent();
      const data = encodeFunctionData({
        abi: erc20Abi,
        functionName: "transfer",
        args: [paid.payTo, CALL_UNITS.api],
      });
      const txHash = await paid.chain.sendTooEarly(payer.account, { to: paid.usdc, data });
      const proof = headerOfTransfer(txHash, payer.walletAddress);
      await assertRefused(proof, "transaction_unconfirmed", payer.apiKey);
      const nothing = { to: payer.walletAddress, data: "0x" };
      while ((await call(proof, payer.apiKey)).status !== 200) await paid.chain.send(payer.account, nothing);
    });

    it("that reverted", async () => {
      const data = encodeFunctionData({
        abi: erc20Abi,
        functionName: "transfer",
        args: [paid.payTo, 100n * THOUSAND_USDC],
      });
      const { transactionHash } = await paid.chain.sendReverting(agent.account, { to: paid.usdc, data });
      await assertRefused(headerOfTransfer(transactionHash, agent.walletAddress), "transaction_reverted");
    });
  });

  it("malformed: bad base64, bad JSON, other versions, schemes and shapes, too long [S7.17]", async () => {
    const payload = await signTransfer(paid, agent.account);
    const short = { ...payload, signature: "0x1234" };
    const contract = { ...payload, signature: `${payload.signature}00` };
    const malformed: Record<string, string>[] = [
      { "x-payment": "%%%" },
      { "x-payment": "" },
      { "x-payment": "{" },
      { "x-payment": "null" },
      { "x-payment": "bnVsbA==" },
      { "x-payment": encodeHeader("text") },
      { "x-payment": encodeHeader({ x402Version: 1 }) },
      {
        "x-payment": `{"x402Version":1,"scheme":"exact","network":"base-sepolia","payload":{"txHash":"0x1","from":"0x2"}}`,
      },
      { "x-payment": `{"__proto__":{"x402Version":1}}` },
      { "x-payment": "A".repeat(9_000) },
      headerV1(short as never),
      headerV1(contract as never),
      headerV1({ ...payload, authorization: { ...payload.authorization, value: "1e2" } }),
      headerV1({ ...payload, authorization: { ...payload.authorization, nonce: "0x12" } }),
      { ...headerV1(payload), ...headerV2(paid, payload) },
      { "payment-signature": encodeHeader({ x402Version: 2, payload }) },
    ];
    for (const headers of malformed) await assertRefused(headers, "malformed_proof");
    await assertRefused(headerV1(payload, { x402Version: 3 }), "unsupported_version");
    await assertRefused({ "payment-signature": encodeHeader({ x402Version: 1, payload }) }, "unsupported_version");
    await assertRefused(headerV1(payload, { scheme: "upto" }), "unsupported_scheme");
    await assertRefused(headerV2(paid, payload, { scheme: "upto" }), "unsupported_scheme");
  });

  describe("used before", () => {
    it("is refused for another call, one after the other, and asks for no other payment [D36]", async () => {
      const hash = await pay(paid, agent.account);
      const first = await signTransfer(paid, agent.account);
      const second = await signTransfer(paid, agent.account);
      const proofs = [headerOfTransfer(hash, agent.walletAddress), headerV1(first), headerV2(paid, second)];
      for (const headers of proofs) {
        assert.strictEqual((await call(headers)).status, 200);
        await assertRefused(headers, "proof_already_used", undefined, OTHER_PATH);
        // A call of another price.
        await assertRefused(headers, "proof_already_used", undefined, `${PATH}?q=invoices`, "$0.01");
      }
    });

    for (const [version, other] of [
      ["v1", "v2"],
      ["v2", "v1"],
    ] as const) {
      it(`is refused in another form: an authorisation paid as ${version}, as ${other} and by its transaction [D36]`, async () => {
        const payload = await signTransfer(paid, agent.account);
        const forms = { v1: headerV1(payload), v2: headerV2(paid, payload) };
        const answer = await call(forms[version]);
        assert.strictEqual(answer.status, 200);
        const receipt = answer.headers.get(version === "v1" ? "x-payment-response" : "payment-response") ?? "";
        const { transaction } = JSON.parse(Buffer.from(receipt, "base64").toString()) as { transaction: string };
        await assertRefused(forms[other], "proof_already_used");
        await assertRefused(headerOfTransfer(transaction, agent.walletAddress), "proof_already_used");
        const upper = `0x${transaction.slice(2).toUpperCase()}`;
        await assertRefused(
          headerOfTransfer(upper, agent.walletAddress, { network: "eip155:84532" }),
          "proof_already_used",
        );
      });
    }

    it("opens one call of many at once with both versions of one authorisation, and takes the money once [D36]", async () => {
      const payer = await paid.richAgent();
      const payload = await signTransfer(paid, payer.account);
      const forms = [headerV1(payload), headerV2(paid, payload)];
      const answers = await Promise.all([...forms, ...forms, ...forms].map((headers) => call(headers, payer.apiKey)));
      await assertServedOnce(answers);
      assert.strictEqual(THOUSAND_USDC - (await paid.chain.usdcOf(payer.walletAddress)), CALL_UNITS.api);
    });

    it("opens one call of many at once, and takes the money once", async () => {
      const payer = await paid.richAgent();
      const hash = await pay(paid, payer.account);
      const [one, two] = [await signTransfer(paid, payer.account), await signTransfer(paid, payer.account)];
      const had = await paid.chain.usdcOf(payer.walletAddress);
      const proofs = [headerOfTransfer(hash, payer.walletAddress), headerV1(one), headerV2(paid, two)];
      for (const headers of proofs) {
        await assertServedOnce(await Promise.all(Array.from({ length: 6 }, () => call(headers, payer.apiKey))));
      }
      assert.strictEqual(had - (await paid.chain.usdcOf(payer.walletAddress)), 2n * CALL_UNITS.api);
    });

    describe("by a request whose process still runs or was killed", () => {
      const create = (proof: Record<string, string>, title: string) =>
        paid.api.request("POST", PATH, {
          ...{ key: agent.apiKey, headers: proof, body: listingBody({ title }) },
        });
      /** Leaves a used payment as a process does that has run the call and hasn't marked the payment as spent. */
      const unmark = (txHash: string, leaseEndsAt: Date) =>
        paid.api.container.connection
          .collection("x402_claims")
          .updateOne(
            { txHash },
            { $set: { state: "reserved", owner: "another process", leaseEndsAt }, $unset: { spentAt: 1 } },
          );
      const claimOf = (txHash: string) => paid.api.container.connection.collection("x402_claims").findOne({ txHash });
      const inAMinute = () => new Date(Date.now() + 60_000);
      const NOW_FREE = new Date(0);

      it("is refused while that runs, and free once its lease has ended", async () => {
        const txHash = await pay(paid, agent.account);
        const proof = headerOfTransfer(txHash, agent.walletAddress);
        assert.strictEqual((await call(proof)).status, 200);
        await unmark(txHash, inAMinute());
        await assertRefused(proof, "proof_in_use");
        await unmark(txHash, NOW_FREE);
        assert.strictEqual((await call(proof)).status, 200);
        await assertRefused(proof, "proof_already_used", undefined, OTHER_PATH);
      });

      it("isn't confirmed by a process that has lost it to another", async () => {
        const txHash = await pay(paid, agent.account);
        assert.strictEqual((await call(headerOfTransfer(txHash, agent.walletAddress))).status, 200);
        await unmark(txHash, inAMinute());
        const { connection, features } = paid.api.container;
        const claims = createClaims({
          ...{ connection, ...features.x402.models },
          ...{ credit: () => assert.fail("no pack was bought"), timings: CLAIM_TIMINGS, onPaid: () => undefined },
        });
        const [taken] = await claims.findByTransfer("base-sepolia", txHash);
        assert.ok(taken !== undefined);
        const place = { txHash, position: taken.position ?? 0 };
        assert.isFalse(await claims.confirm({ ...taken, owner: "a slow process" }, "spent", place));
        assert.strictEqual((await claimOf(txHash))?.["state"], "reserved");
        await unmark(txHash, NOW_FREE);
        await claims.renew(taken);
        assert.isFalse(await claims.confirm(taken, "spent", place), "its lease has ended");
        await unmark(txHash, inAMinute());
        assert.isTrue(await claims.confirm(taken, "spent", place));
        assert.isFalse(await claims.confirm(taken, "spent", place));
      });

      it("runs the same request as a repeat, and another request as a new one", async () => {
        const txHash = await pay(paid, agent.account);
        const proof = headerOfTransfer(txHash, agent.walletAddress);
        const first = await create(proof, "First of two");
        assert.strictEqual(first.status, 201, first.text);
        await unmark(txHash, NOW_FREE);
        const repeat = await create(proof, "First of two");
        assert.deepEqual([repeat.status, repeat.body.data], [201, first.body.data]);
        assert.strictEqual((await claimOf(txHash))?.["runs"], 2);
        await unmark(txHash, NOW_FREE);
        const other = await create(proof, "Second of two");
        assert.strictEqual(other.status, 201, other.text);
        assert.notStrictEqual(other.body.data.id, first.body.data.id);
        assert.strictEqual(other.body.data.title, "Second of two");
        assert.strictEqual((await claimOf(txHash))?.["runs"], 1);
      });
    });

    it("by another agent with the same transaction is refused", async () => {
      const hash = await pay(paid, agent.account);
      const other = await paid.api.registerAgent();
      await assertRefused(headerOfTransfer(hash, agent.walletAddress), "wrong_sender", other.apiKey);
    });
  });
});
