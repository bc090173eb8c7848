// Settlement by the service's own key, on a chain that changes between estimate and transaction.
import { randomBytes } from "node:crypto";
import { once } from "node:events";

import { assert } from "chai";
import type { Connection } from "mongoose";
import { encodeFunctionData, erc20Abi } from "viem";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { PrivateKeyAccount } from "viem/accounts";

import { connectDatabase } from "../../../api/db/connection.ts";
import { USDC_DOMAINS } from "../../../api/config/constants.ts";
import type { Facilitator, SettleAttempt } from "../../../api/features/x402/settling/facilitator.ts";
import { lastTransactionModel } from "../../../api/features/x402/model.ts";
import { OwnFacilitator } from "../../../api/features/x402/settling/own-facilitator.ts";
import type { OwnFacilitatorOptions } from "../../../api/features/x402/settling/own-facilitator.ts";
import { leaseModel } from "../../../api/jobs/lease.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { MOST_SENDS, oddNodeTo, onSending, SENDING_ANSWERS, sendsOf } from "../../fixtures/odd-node.ts";
import type { OddNode } from "../../fixtures/odd-node.ts";
import { gasKey, signTransfer } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const UNITS = 1_000_000n;
/** The time of a payment at a node that answers oddly, and far more than the second that its answer may take then. */
const TIME_MS = 3_000;
const MARGIN_MS = 6_000;

interface Payment {
  payer: PrivateKeyAccount;
  payTo: Hex;
  version: 1 | 2;
  signal?: AbortSignal;
}

describe("the service's own facilitator", () => {
  let connection: Connection;
  let shared: Pick<OwnFacilitatorOptions, "lastTransactions" | "leases">;
  let chain: TestChain;
  let usdc: Hex;

  before(async () => {
    const log = createLogger({ level: "silent", name: "test" });
    const databaseName = `test_own_facilitator_${randomBytes(6).toString("hex")}`;
    connection = await connectDatabase((await readStack()).mongodbUri, log, databaseName);
    shared = { lastTransactions: lastTransactionModel(connection), leases: leaseModel(connection) };
    chain = await openChain("base-sepolia");
    usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  const facilitatorOf = (key: Hex, fields: Partial<OwnFacilitatorOptions> = {}) =>
    new OwnFacilitator({
      network: "base-sepolia",
      rpcUrl: chain.rpcUrl,
      key,
      timeoutMs: 60_000,
      ...shared,
      processId: "test",
      ...fields,
    });

  /** Signs a payment and settles it. */
  async function settle(
    facilitator: Facilitator,
    { payer, payTo, version, signal = AbortSignal.timeout(60_000) }: Payment,
    beforeSending: () => Promise<void> = () => Promise.resolve(),
  ): Promise<SettleAttempt> {
    const { authorization, signature } = await signTransfer({ chain, usdc, payTo }, payer);
    const { value, validAfter, validBefore, ...names } = authorization;
    const times = { validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) };
    return facilitator.settle(
      { kind: "signed", version, signature, authorization: { ...names, ...times, value: BigInt(value) } },
      {
        network: "base-sepolia",
        token: { address: usdc, ...USDC_DOMAINS["base-sepolia"] },
        payTo,
        amount: BigInt(value),
        resource: "https://market.test/",
        description: "A call",
      },
      signal,
      beforeSending,
    );
  }

  for (const version of [1, 2] as const) {
    it(`settles a payment whose payee's balance is emptied after the estimate: version ${version}`, async () => {
      const [payer, payee] = [privateKeyToAccount(generatePrivateKey()), privateKeyToAccount(generatePrivateKey())];
      await Promise.all([payer, payee].map((account) => chain.endow(account, { usdc: UNITS })));
      const facilitator = facilitatorOf(await gasKey(chain));
      // A slot that has no value costs more to write.
      const attempt = await settle(facilitator, { payer, payTo: payee.address, version }, async () => {
        const args = [payer.address, UNITS] as const;
        const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args });
        await chain.send(payee, { to: usdc, data });
      });
      assert.strictEqual(attempt.kind, "sent", JSON.stringify(attempt));
      const hash = attempt.kind === "sent" ? attempt.txHash : "0x";
      const [{ gas }, { gasUsed }] = await Promise.all([
        chain.client.getTransaction({ hash }),
        chain.client.getTransactionReceipt({ hash }),
      ]);
      assert.isTrue(gasUsed > (gas * 4n) / 5n, `${gasUsed} of ${gas}, which is a quarter above the estimate`);
    });
  }

  describe("at a node that answers signed transactions in a way of its own", () => {
    let node: OddNode;
    let payer: PrivateKeyAccount;
    let payTo: Hex;

    before(async () => {
      node = await oddNodeTo(chain.rpcUrl);
      payer = privateKeyToAccount(generatePrivateKey());
      payTo = privateKeyToAccount(generatePrivateKey()).address;
      await chain.endow(payer, { usdc: UNITS });
    });
    beforeEach(() => {
      node.seen = [];
    });
    after(() => node.close());

    /** Answers in time, or fails. */
    async function inTime<T>(work: Promise<T>): Promise<T> {
      const late = AbortSignal.timeout(TIME_MS + MARGIN_MS);
      const tooLate = once(late, "abort").then(() => assert.fail(`no answer within ${TIME_MS + MARGIN_MS} ms`));
      return Promise.race([work, tooLate]);
    }

    for (const [index, { name, oddity }] of SENDING_ANSWERS.entries()) {
      const version = index % 2 === 0 ? 1 : 2;
      it(`${name}: ends in time with ${MOST_SENDS} sends at most, and a healthy process with the key settles on [D49]`, async () => {
        node.odd = onSending(oddity);
        const key = await gasKey(chain);
        const odd = facilitatorOf(key, { rpcUrl: node.url, processId: "odd" });
        const payment = { payer, payTo, version } as const;
        const stuck = inTime(settle(odd, { ...payment, signal: AbortSignal.timeout(TIME_MS) }));
        stuck.catch(() => undefined);
        await until("the odd node was sent something", () => Promise.resolve(sendsOf(node) > 0));
        const healthy = facilitatorOf(key, { processId: "healthy" });
        const settled = await settle(healthy, { ...payment, signal: AbortSignal.timeout(10 * TIME_MS) });
        assert.strictEqual(settled.kind, "sent", JSON.stringify(settled));
        const { kind, txHash } = { txHash: undefined, ...(await stuck) };
        // The healthy process may have sent that transaction, too.
        assert.include(["sent", "unknown"], kind);
        assert.match(String(txHash), /^0x/);
        assert.isAtMost(sendsOf(node), MOST_SENDS);
      });

      it(`${name}: leaves the outcome open, and the next payment of the same process settles once the node is well [D49]`, async () => {
        node.odd = onSending(oddity);
        const facilitator = facilitatorOf(await gasKey(chain), { rpcUrl: node.url });
        const payment = { payer, payTo, version } as const;
        const attempt = await inTime(settle(facilitator, { ...payment, signal: AbortSignal.timeout(TIME_MS) }));
        const isDone = oddity.kind === "error" && oddity.isDone === true;
        assert.strictEqual(attempt.kind, isDone ? "sent" : "unknown", JSON.stringify(attempt));
        assert.isAtMost(sendsOf(node), MOST_SENDS);
        node.odd = undefined;
        assert.strictEqual((await settle(facilitator, payment)).kind, "sent");
      });
    }
  });
});
