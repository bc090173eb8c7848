// Proofs that don't count: each is answered with the 402 of section 7, and nothing is spent.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { encodeFunctionData, erc20Abi, parseAbi } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import type { TestAgent } from "../../fixtures/api.ts";
import { paidCalls } from "../../fixtures/paid-calls.ts";
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
  THOUSAND_USDC,
} from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";

const PATH = "/api/v1/services";
const OTHER_PATH = `${PATH}?limit=7`;
const FAILED = "x402 payment verification failed";
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

  const { call, assertRefused } = paidCalls(() => ({ paid, agent }));

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
});
