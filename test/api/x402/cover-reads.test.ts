// What the comparison of a wallet's money with its open payments asks the RPC server.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { encodeFunctionData, parseAbi } from "viem";
import type { Hex } from "viem";

import { createPaymentChain } from "../../../api/chain/payment-chain.ts";
import { CLAIM_TIMINGS, createClaims } from "../../../api/features/x402/claims.ts";
import { createCover } from "../../../api/features/x402/cover.ts";
import { ProofRefusedError } from "../../../api/features/x402/proof.ts";
import type { SignedClaim } from "../../../api/features/x402/settlement.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { doorTo } from "../../fixtures/outage.ts";
import type { Door } from "../../fixtures/outage.ts";
import { CALL_UNITS, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi, SignedTransfer } from "../../fixtures/payments.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

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
    door.translate = (request: { method: string } | { method: string }[]) => {
      asked.push(...[request].flat().map(({ method }) => method));
      return undefined;
    };
  });
  beforeEach(async () => {
    asked = [];
    agent = await paid.api.registerAgent();
  });
  after(async () => {
    await door.close();
    await paid.close();
  });

  const claimsOf = () => {
    const { connection, features } = paid.api.container;
    return createClaims({
      ...{ connection, ...features.x402.models },
      ...{ credit: () => assert.fail("no pack was bought"), onPaid: () => undefined },
      timings: { ...CLAIM_TIMINGS, x402LeaseMs: LEASE_MS },
    });
  };
  const coverOf = () => {
    const { network, deployment } = paid.chain;
    const chain = createPaymentChain({ network, rpcUrl: door.url, deployment });
    return createCover({ claims: claimsOf(), chain, timings: { x402PatienceMs: 0 } });
  };

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
      requestHash: randomBytes(32).toString("hex"),
    });
    assert.ok(claim?.payment !== undefined && claim.nonce !== undefined);
    return { ...claim, payment: claim.payment, nonce: claim.nonce };
  }

  it("takes three calls for any number of open payments [D36]", async () => {
    await paid.chain.endow(agent.account, { usdc: CALL_UNITS.api });
    let last: SignedClaim | undefined;
    for (let n = 0; n < MANY; n += 1) last = await reserved(await signTransfer(paid, agent.account));
    assert.ok(last !== undefined);
    const error = await rejectionOf(coverOf()(last), ProofRefusedError);
    assert.strictEqual(error.reason, "insufficient_balance");
    assert.deepEqual(asked.toSorted(), ["eth_call", "eth_call", "eth_getBlockByNumber"]);
  });

  it("leaves out payments that the chain has, or that have expired [D36]", async () => {
    await paid.chain.endow(agent.account, { usdc: 2n * CALL_UNITS.api });
    const used = await signTransfer(paid, agent.account);
    await reserved(used);
    await reserved(await signTransfer(paid, agent.account, { validBefore: 1 }));
    const last = await reserved(await signTransfer(paid, agent.account));
    const { from, to, value, validAfter, validBefore, nonce } = used.authorization;
    const data = encodeFunctionData({
      abi: transferAbi,
      functionName: "transferWithAuthorization",
      args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, used.signature],
    });
    await paid.chain.send(agent.account, { to: paid.usdc, data });
    await coverOf()(last);
    const late = await reserved(await signTransfer(paid, agent.account));
    await rejectionOf(coverOf()(late), ProofRefusedError);
  });
});
