// The copy of the on-chain score that search reads follows each settlement (specification 2.5).

import { assert } from "chai";
import { createWalletClient, http, parseAbi } from "viem";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const resolverAbi = parseAbi([
  "function resolverOf(uint8 role) view returns (address)",
  "function resolveBySystem(bytes32 escrowId, uint8 outcome, bytes32 rationaleHash)",
]);
const SYSTEM_ROLE = 0;
const BUYER_REFUND = 0;
const GAS_WEI = 10n ** 18n;

describe("the discovery scores of the parties", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;

  before(async () => {
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
  });
  after(() => api.close());

  async function read(agent: TestAgent) {
    const path = `/api/v1/agents/${agent.agentId}/discovery-score`;
    const { status, body, text } = await api.request("GET", path, { key: market.buyer.apiKey });
    assert.strictEqual(status, 200, text);
    return body as { onChainScore: number; discoveryScore: number; lastSynced: string };
  }
  const scores = async () => {
    const [buyer, seller] = [await read(market.buyer), await read(market.seller)];
    return [buyer.onChainScore, buyer.discoveryScore, seller.onChainScore, seller.discoveryScore];
  };
  /** Waits until both parties' scores have changed. */
  const changed = async (before: number[]) =>
    until("both scores have changed", async () => {
      const now = await scores();
      return now[0] !== before[0] && now[2] !== before[2] ? now : undefined;
    });

  /** The system resolver of the local chain decides for the buyer. */
  async function ruleForBuyer(escrowId: `0x${string}`): Promise<void> {
    const { client, deployment } = chain;
    const contract = { address: deployment.resolver, abi: resolverAbi } as const;
    const account = await client.readContract({ ...contract, functionName: "resolverOf", args: [SYSTEM_ROLE] });
    await client.setBalance({ address: account, value: GAS_WEI });
    await client.impersonateAccount({ address: account });
    const wallet = createWalletClient({ account, chain: client.chain, transport: http(chain.rpcUrl) });
    const args = [escrowId, BUYER_REFUND, `0x${"5a".repeat(32)}`] as const;
    const hash = await wallet.writeContract({ ...contract, functionName: "resolveBySystem", args });
    assert.strictEqual((await client.waitForTransactionReceipt({ hash })).status, "success");
  }

  it("[S2.5.13] show the new on-chain score after a completed escrow", async () => {
    const before = await scores();
    assert.deepEqual(before, [0, 0, 0, 0]);
    const { lastSynced } = await read(market.buyer);
    const { transactionId } = await fundedDeal(market);
    await deliverDeal(market, transactionId);
    await act(api, chain, market.buyer, transactionId, "accept");
    assert.deepEqual(await changed(before), [1, 0.01, 1, 0.01]);
    assert.ok((await read(market.buyer)).lastSynced > lastSynced);
  });

  it("[S2.5.14] show the new on-chain score after a disputed escrow", async () => {
    const before = await scores();
    const { transactionId, paymentInstructions } = await fundedDeal(market);
    await deliverDeal(market, transactionId);
    await act(api, chain, market.buyer, transactionId, "openDispute");
    await ruleForBuyer(paymentInstructions.escrowId);
    assert.deepEqual(await changed(before), [2, 0.02, -2, 0]);
  });

  it("show a score that changed on chain after the settlement, once the job has run", async () => {
    const before = await scores();
    // Only the score contract changes. No escrow moves, so the follower has nothing to apply.
    await chain.raiseScore(market.seller.walletAddress, 2);
    const job = api.container.jobDefinitions.find(({ name }) => name === "agents.sync-standings");
    assert.ok(job !== undefined);
    const run = { data: undefined as never, log: api.container.log, signal: new AbortController().signal };
    const [, , score = 0] = before;
    await until("the job has copied it", async () => {
      await job.run(run);
      return (await scores())[2] === score + 2;
    });
  });
});
