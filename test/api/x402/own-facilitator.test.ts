// Settlement by the service's own key, on a chain that changes between estimate and transaction.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";
import { encodeFunctionData, erc20Abi } from "viem";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { connectDatabase } from "../../../api/db/connection.ts";
import { USDC_DOMAINS } from "../../../api/config/constants.ts";
import { lastTransactionModel } from "../../../api/features/x402/model.ts";
import { createOwnFacilitator } from "../../../api/features/x402/own-facilitator.ts";
import type { OwnFacilitatorOptions } from "../../../api/features/x402/own-facilitator.ts";
import { leaseModel } from "../../../api/jobs/lease.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { gasKey, signTransfer } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const UNITS = 1_000_000n;

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

  for (const version of [1, 2] as const) {
    it(`settles a payment whose payee's balance is emptied after the estimate: version ${version}`, async () => {
      const [payer, payee] = [privateKeyToAccount(generatePrivateKey()), privateKeyToAccount(generatePrivateKey())];
      await Promise.all([payer, payee].map((account) => chain.endow(account, { usdc: UNITS })));
      const facilitator = createOwnFacilitator({
        ...{ network: "base-sepolia", rpcUrl: chain.rpcUrl, key: await gasKey(chain), timeoutMs: 60_000 },
        ...{ ...shared, processId: "test" },
      });
      const { authorization, signature } = await signTransfer({ chain, usdc, payTo: payee.address }, payer);
      const { value, validAfter, validBefore, ...names } = authorization;
      const times = { validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) };
      const attempt = await facilitator.settle(
        { kind: "signed", version, signature, authorization: { ...names, ...times, value: BigInt(value) } },
        {
          ...{ network: "base-sepolia", token: { address: usdc, ...USDC_DOMAINS["base-sepolia"] } },
          ...{ payTo: payee.address, amount: BigInt(value), resource: "https://market.test/", description: "A call" },
        },
        // A slot that has no value costs more to write.
        async () => {
          const args = [payer.address, UNITS] as const;
          await chain.send(payee, {
            to: usdc,
            data: encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args }),
          });
        },
      );
      assert.strictEqual(attempt.kind, "sent", JSON.stringify(attempt));
      const hash = attempt.kind === "sent" ? attempt.txHash : "0x";
      const [{ gas }, { gasUsed }] = await Promise.all([
        chain.client.getTransaction({ hash }),
        chain.client.getTransactionReceipt({ hash }),
      ]);
      assert.isTrue(gasUsed > (gas * 4n) / 5n, `${gasUsed} of ${gas}, which is a quarter above the estimate`);
    });
  }
});
