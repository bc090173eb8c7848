// What the comparison of a wallet's money with its open payments asks the RPC server.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { encodeFunctionData, numberToHex, parseAbi } from "viem";
import type { Hex } from "viem";

import { ChainUnavailableError } from "../../../api/chain/errors.ts";
import { createPaymentChain } from "../../../api/chain/payment-chain.ts";
import { createMandateLedger } from "../../../api/features/mandates/ledger.ts";
import { CLAIM_TIMINGS, Claims } from "../../../api/features/x402/settling/claims.ts";
import { BalanceCheck } from "../../../api/features/x402/settling/balance-check.ts";
import { ProofRefusedError } from "../../../api/features/x402/offer/proof.ts";
import type { SignedClaim } from "../../../api/features/x402/settling/settlement.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { doorTo } from "../../fixtures/outage.ts";
import type { Door } from "../../fixtures/outage.ts";
import { CALL_UNITS, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi, SignedTransfer } from "../../fixtures/payments.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { until } from "../../fixtures/until.ts";

interface RpcRequest {
  id: number;
  method: string;
}
interface RpcAnswer {
  id: number;
  result: unknown;
}

const MANY = 30;
/** Longer than the test takes. */
const LEASE_MS = 600_000;
const transferAbi = parseAbi([
  "function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, bytes)",
]);

describe("the comparison of a wallet's money with its open payments", () => {
  let paid: PaidApi;
  let door: Door;
  let agent: TestAgent;
  /** JSON-RPC methods that were called. */
  let asked: string[];

  before(async () => {
    paid = await startPaidApi();
    door = await doorTo(paid.chain.rpcUrl);
  });
  beforeEach(async () => {
    asked = [];
    door.translate = (request: RpcRequest | RpcRequest[]) => {
      asked.push(...[request].flat().map(({ method }) => method));
      return undefined;
    };
    agent = await paid.api.registerAgent();
  });
  after(async () => {
    await door.close();
    await paid.close();
  });

  const claimsOf = () => {
    const { connection, features } = paid.api.container;
    return new Claims({
      connection,
      ...features.x402.models,
      ledger: createMandateLedger(connection),
      credit: () => assert.fail("no pack was bought"),
      onPaid: () => undefined,
      now: () => new Date(),
      timings: { ...CLAIM_TIMINGS, x402LeaseMs: LEASE_MS },
    });
  };
  const chainBehind = ({ url }: Door) => {
    const { network, deployment } = paid.chain;
    return createPaymentChain({ network, rpcUrl: url, deployment });
  };
  const checkWith = (x402PatienceMs = 0) => {
    const timings = { x402PatienceMs };
    const balance = new BalanceCheck({
      claims: claimsOf(),
      chain: chainBehind(door),
      timings,
      network: "base-sepolia",
    });
    return (claim: SignedClaim, leadSeconds = 0) =>
      balance.requireFunds(claim, new AbortController().signal, leadSeconds);
  };
  /** Waits until the chain has a block that is younger than a claim. */
  const minedAfter = async ({ startedAt }: SignedClaim) =>
    until("a block is younger than the claim", async () => {
      const { timestamp } = await paid.chain.client.getBlock({ blockTag: "latest" });
      return Number(timestamp) * 1_000 > startedAt.getTime();
    });

  /** Reserves a signed payment for a call. */
  async function reserved({ authorization, signature }: SignedTransfer): Promise<SignedClaim> {
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    const claim = await claimsOf().reserve({
      network: "base-sepolia",
      token: paid.usdc.toLowerCase(),
      payer: from.toLowerCase(),
      payTo: to.toLowerCase(),
      amount: value,
      nonce,
      payment: { version: 1, signature, validAfter, validBefore, fromBlock: 0, txHashes: [] as Hex[] },
      agentId: agent.agentId,
      keyId: "key_test",
      requestHash: randomBytes(32).toString("hex"),
    });
    assert.ok(claim?.payment !== undefined && claim.nonce !== undefined);
    return { ...claim, payment: claim.payment, nonce: claim.nonce };
  }

  /** Settles a payment, as anyone may who has the signature. */
  function transferBy({ authorization, signature }: SignedTransfer) {
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    const data = encodeFunctionData({
      abi: transferAbi,
      functionName: "transferWithAuthorization",
      args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signature],
    });
    return paid.chain.send(agent.account, { to: paid.usdc, data });
  }

  it("takes three calls for any number of open payments [D36]", async () => {
    await paid.chain.endow(agent.account, { usdc: CALL_UNITS.api });
    let last: SignedClaim | undefined;
    for (let n = 0; n < MANY; n += 1) last = await reserved(await signTransfer(paid, agent.account));
    assert.ok(last !== undefined);
    await minedAfter(last);
    const error = await rejectionOf(checkWith()(last), ProofRefusedError);
    assert.strictEqual(error.reason, "insufficient_balance");
    assert.deepEqual(asked.toSorted(), ["eth_call", "eth_call", "eth_getBlockByNumber"]);
  });

  it("leaves out payments that the chain has, or that have expired [D36]", async () => {
    await paid.chain.endow(agent.account, { usdc: 2n * CALL_UNITS.api });
    const used = await signTransfer(paid, agent.account);
    await reserved(used);
    await reserved(await signTransfer(paid, agent.account, { validBefore: 1 }));
    const last = await reserved(await signTransfer(paid, agent.account));
    await transferBy(used);
    await checkWith()(last);
    const late = await reserved(await signTransfer(paid, agent.account));
    await minedAfter(late);
    await rejectionOf(checkWith()(late), ProofRefusedError);
  });

  it("refuses the later of two that the money doesn't cover, and makes the earlier one wait until it is gone", async () => {
    await paid.chain.endow(agent.account, { usdc: CALL_UNITS.api });
    const earlier = await reserved(await signTransfer(paid, agent.account));
    await until("the clock has moved on", () => Promise.resolve(Date.now() > earlier.startedAt.getTime()));
    const later = await reserved(await signTransfer(paid, agent.account));
    assert.isAbove(later.startedAt.getTime(), earlier.startedAt.getTime());
    await minedAfter(later);
    let isChecked = false;
    const checked = checkWith(60_000)(earlier).finally(() => (isChecked = true));
    const looks = () => asked.filter((method) => method === "eth_getBlockByNumber").length;
    await Promise.race([checked, until("it has looked twice", () => Promise.resolve(looks() > 1))]);
    assert.isFalse(isChecked);
    await rejectionOf(checkWith(60_000)(later), ProofRefusedError);
    await claimsOf().release(later);
    await checked;
  });

  describe("at a server that is a block behind", () => {
    /** A block of before the test, as the latest one. Local chains may be ahead of the clock, so it gets an earlier time. */
    let oldBlock: Record<string, unknown> | undefined;
    let looks: number;

    async function latestBlock(): Promise<Record<string, unknown>> {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getBlockByNumber", params: ["latest", false] });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(paid.chain.rpcUrl, { method: "POST", headers, body });
      const { result } = (await answer.json()) as { result: Record<string, unknown> };
      return { ...result, timestamp: numberToHex(Math.floor(Date.now() / 1_000) - 5) };
    }

    beforeEach(async () => {
      looks = 0;
      oldBlock = await latestBlock();
      door.translate = (request: RpcRequest | RpcRequest[], answer: RpcAnswer | RpcAnswer[]) => {
        const isOld = new Set(
          [request].flat().flatMap(({ id, method }) => (method === "eth_getBlockByNumber" ? [id] : [])),
        );
        looks += isOld.size;
        const show = (one: RpcAnswer) =>
          isOld.has(one.id) && oldBlock !== undefined ? { ...one, result: oldBlock } : one;
        return Array.isArray(answer) ? answer.map(show) : show(answer);
      };
    });
    afterEach(() => {
      delete door.translate;
    });

    it("waits for a younger block before it refuses a wallet that has just been paid [D36]", async () => {
      await paid.chain.endow(agent.account, { usdc: CALL_UNITS.api });
      const checked = checkWith(60_000)(await reserved(await signTransfer(paid, agent.account)));
      await until("the old block has been looked at twice", () => Promise.resolve(looks > 1));
      oldBlock = undefined;
      await checked;
    });

    it("can't tell while no block is younger than the payment, and says so [D36]", async () => {
      await paid.chain.endow(agent.account, { usdc: CALL_UNITS.api });
      const claim = await reserved(await signTransfer(paid, agent.account));
      await assert.isRejected(checkWith()(claim), ChainUnavailableError);
    });

    it("can't tell on a chain whose clock is ahead either, where every block has a late time", async () => {
      const LEAD_SECONDS = 3_600;
      const timestamp = numberToHex(Math.floor(Date.now() / 1_000) + LEAD_SECONDS - 5);
      oldBlock = { ...(await latestBlock()), timestamp };
      const claim = await reserved(await signTransfer(paid, agent.account));
      await assert.isRejected(checkWith()(claim, LEAD_SECONDS), ChainUnavailableError);
      await rejectionOf(checkWith()(claim), ProofRefusedError);
    });

    it("counts what has been paid since its latest block [D36]", async () => {
      await paid.chain.endow(agent.account, { usdc: CALL_UNITS.api });
      oldBlock = await latestBlock();
      const signed = await signTransfer(paid, agent.account);
      const earlier = await reserved(signed);
      const { transactionHash } = await transferBy(signed);
      assert.isTrue(await claimsOf().beginSettling(earlier, undefined));
      assert.isTrue(await claimsOf().confirm(earlier, "spent", { txHash: transactionHash, position: 1 }));
      const later = await reserved(await signTransfer(paid, agent.account));
      await assert.isRejected(checkWith()(later), ChainUnavailableError);
      oldBlock = undefined;
      await minedAfter(later);
      await rejectionOf(checkWith()(later), ProofRefusedError);
    });
  });
});
