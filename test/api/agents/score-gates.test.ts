// Which of an agent's two scores the gates use (specification 2.5): the integer in the score contract, not the
// discoveryScore that search reads. Here the subgraphs report other scores than the chains, so that the two differ.

import { assert } from "chai";

import type { Network } from "../../../api/config/constants.ts";
import type { IndexedAgent } from "../../../api/indexer/schemas.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { listService, ONE_USDC } from "../../fixtures/deals.ts";
import { indexedAgent, indexersWith } from "../../fixtures/indexed-agents.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

describe("the gates that depend on a score", () => {
  let api: TestApi;
  let testnet: TestChain;
  let mainnet: TestChain;
  let seller: TestAgent;
  const known: Record<Network, Map<string, IndexedAgent>> = { "base-sepolia": new Map(), base: new Map() };

  before(async () => {
    api = await startTestApi({ indexers: indexersWith(known) });
    [testnet, mainnet] = await Promise.all([openChain("base-sepolia"), openChain("base")]);
    seller = await api.registerAgent();
    // The lower of both caps counts, so the seller gets the higher one.
    await testnet.raiseScore(seller.walletAddress, 30);
  });
  after(() => api.close());

  /** A buyer with money whose on-chain score is `onChain` while its discoveryScore comes from `indexed`. */
  async function buyerWith(onChain: number, indexed: number): Promise<TestAgent> {
    const agent = await api.registerAgent();
    for (const network of ["base-sepolia", "base"] as const) {
      const facts = indexedAgent(agent.walletAddress, { score: BigInt(indexed) });
      known[network].set(agent.walletAddress.toLowerCase(), facts);
    }
    await testnet.endow(agent.account, { usdc: 100n * ONE_USDC });
    await mainnet.endow(agent.account, { usdc: 100n * ONE_USDC });
    await testnet.raiseScore(agent.walletAddress, onChain);
    return agent;
  }

  async function discoveryScoreOf(agent: TestAgent): Promise<number> {
    const path = `/api/v1/agents/${agent.agentId}/discovery-score`;
    return (await api.request("GET", path, { key: seller.apiKey })).body.discoveryScore as number;
  }

  async function order(buyer: TestAgent, network: Network, price: number) {
    const serviceId = await listService(api, seller, { network, price });
    const body = { serviceId, paymentMethod: "usdc", network };
    return api.request("POST", "/api/v1/checkout", { key: buyer.apiKey, body });
  }

  it("[S2.5.12] stay closed for a discoveryScore of 1 while the on-chain score is 9", async () => {
    const praised = await buyerWith(9, 150);
    assert.strictEqual(await discoveryScoreOf(praised), 1);
    const ungraduated = await order(praised, "base", 1);
    assertError(ungraduated, 403, "testnet_graduation_required");
    assert.strictEqual(ungraduated.body.details.onChainScore, 9);
    const tooDear = await order(praised, "base-sepolia", 10.000001);
    assertError(tooDear, 403, "job_value_cap_exceeded");
    assert.deepEqual(
      [tooDear.body.details.cappedWallet, tooDear.body.details.capUsd],
      [praised.walletAddress, "10000000"],
    );
  });

  it("[S2.5.12] are open for an on-chain score of 10 although the discoveryScore is 0", async () => {
    const unseen = await buyerWith(10, 0);
    assert.strictEqual(await discoveryScoreOf(unseen), 0);
    const graduated = await order(unseen, "base", 1);
    assert.strictEqual(graduated.status, 200, graduated.text);
    const dear = await order(unseen, "base-sepolia", 25);
    assert.strictEqual(dear.status, 200, dear.text);
    const tooDear = await order(unseen, "base-sepolia", 25.000001);
    assertError(tooDear, 403, "job_value_cap_exceeded");
    assert.strictEqual(tooDear.body.details.capUsd, "25000000");
  });
});
