// API processes that settle with one key.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";
import { keccak256 } from "viem";
import { privateKeyToAccount, privateKeyToAddress } from "viem/accounts";

import { connectDatabase } from "../../../api/db/connection.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { listingBody, readStack } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { CALL_UNITS, gasKey, headerV1, headerV2, paymentSettings, signTransfer } from "../../fixtures/payments.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const log = createLogger({ level: "silent", name: "test" });
const THOUSAND_USDC = 1_000_000_000n;
const PROCESSES = 2;
const AT_ONCE = 40;

describe("processes that share a settlement key", () => {
  const databaseName = `test_shared_key_${randomBytes(6).toString("hex")}`;
  const payTo = paymentSettings("base-sepolia").payTo ?? "0x";
  let processes: ApiProcess[] = [];
  let connection: Connection;
  let chain: TestChain;
  let usdc: `0x${string}`;
  let key: `0x${string}`;

  before(async () => {
    connection = await connectDatabase((await readStack()).mongodbUri, log, databaseName);
    chain = await openChain("base-sepolia");
    usdc = chain.deployment.tokens.find(({ symbol }) => symbol === "USDC")?.address ?? "0x";
    key = await gasKey(chain);
    const variables = {
      X402_PAY_TO: payTo,
      X402_SETTLEMENT_KEY: key,
      BUDGET_API: "1",
      // On a loaded machine a settlement may take longer than the usual limit, and isn't lost then.
      X402_TIMEOUT_MS: "60000",
    };
    processes = await Promise.all(Array.from({ length: PROCESSES }, () => startApiProcess(databaseName, variables)));
  });
  after(async () => {
    for (const api of processes) api.kill();
    await connection.dropDatabase();
    await connection.close();
  });

  const urlOf = (index: number): string => processes[index % PROCESSES]?.url ?? "";

  /** A registered agent with money and without budget. */
  async function brokeAgent() {
    const { account, body } = await registrationBody();
    const headers = { "content-type": "application/json" };
    const url = `${urlOf(0)}/api/v1/auth/register`;
    const registered = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    const { agentId, apiKey } = (await registered.json()) as { agentId: string; apiKey: string };
    await chain.endow(account, { usdc: THOUSAND_USDC });
    const used = await fetch(`${urlOf(0)}/api/v1/services`, { headers: { "x-api-key": apiKey } });
    assert.strictEqual(used.status, 200);
    return { agentId, apiKey, account };
  }

  async function create(url: string, apiKey: string, proof: Record<string, string>, title = "Listing") {
    const headers = { "content-type": "application/json", "x-api-key": apiKey, ...proof };
    const answer = await fetch(`${url}/api/v1/services`, {
      method: "POST",
      headers,
      body: JSON.stringify(listingBody({ title })),
    });
    return { status: answer.status, text: await answer.text() };
  }

  const sent = () => chain.client.getTransactionCount({ address: privateKeyToAddress(key) });

  /** Leaves a signed transaction in the database, as a process does that is killed before it sends it. */
  async function leaveUnsent(nonce: number): Promise<`0x${string}`> {
    const account = privateKeyToAccount(key);
    const { maxFeePerGas, maxPriorityFeePerGas } = await chain.client.estimateFeesPerGas();
    const raw = await account.signTransaction({
      type: "eip1559",
      chainId: chain.deployment.chainId,
      to: account.address,
      gas: 21_000n,
      nonce,
      // Enough while the base fee of the shared chain rises.
      maxFeePerGas: 10n * maxFeePerGas,
      maxPriorityFeePerGas,
    });
    const { modifiedCount } = await connection
      .collection("x402_last_transactions")
      .updateOne({ _id: `base-sepolia:${account.address.toLowerCase()}` as never }, { $set: { nonce, raw } });
    assert.strictEqual(modifiedCount, 1);
    return raw;
  }

  it(`settle each of ${AT_ONCE} payments once, with one transaction, and none is pending [D36] [D49]`, async () => {
    const { agentId, apiKey, account } = await brokeAgent();
    const proofs = await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, index) => {
        const payment = await signTransfer({ chain, usdc, payTo }, account);
        return index % (2 * PROCESSES) < PROCESSES ? headerV1(payment) : headerV2({ chain, usdc, payTo }, payment);
      }),
    );
    const answers = await Promise.all(
      proofs.map((proof, index) => create(urlOf(index), apiKey, proof, `Listing ${index}`)),
    );
    for (const { status, text } of answers) assert.strictEqual(status, 201, text);
    const claims = await connection.collection("x402_claims").find({ agentId }).toArray();
    assert.deepEqual(
      claims.map(({ state }) => String(state)),
      answers.map(() => "spent"),
    );
    assert.strictEqual(new Set(claims.map(({ txHash }) => String(txHash))).size, AT_ONCE);
    assert.strictEqual(await connection.collection("listings").countDocuments({ sellerAgentId: agentId }), AT_ONCE);
    assert.strictEqual(THOUSAND_USDC - (await chain.usdcOf(account.address)), BigInt(AT_ONCE) * CALL_UNITS.api);
    // No transaction was replaced, and none reverted.
    assert.strictEqual(await sent(), AT_ONCE);
  });

  it("send first what a killed process had signed and not sent [D36]", async () => {
    const { apiKey, account } = await brokeAgent();
    const nonce = await sent();
    const raw = await leaveUnsent(nonce);
    const payment = headerV1(await signTransfer({ chain, usdc, payTo }, account));
    const { status, text } = await create(urlOf(0), apiKey, payment);
    assert.strictEqual(status, 201, text);
    const receipt = await chain.client.getTransactionReceipt({ hash: keccak256(raw) });
    assert.strictEqual(receipt.status, "success");
    assert.strictEqual(await sent(), nonce + 2);
  });

  it("settle on if a node has lost a transaction before the last one [D36]", async () => {
    const { apiKey, account } = await brokeAgent();
    const nonce = await sent();
    await leaveUnsent(nonce + 5);
    for (const index of [0, 1]) {
      const payment = headerV2({ chain, usdc, payTo }, await signTransfer({ chain, usdc, payTo }, account));
      const { status, text } = await create(urlOf(index), apiKey, payment, `Listing ${index}`);
      assert.strictEqual(status, 201, text);
    }
    assert.strictEqual(await sent(), nonce + 2);
  });
});
