// The keeper's question to the subgraph: which disputes were opened before a time and haven't ended.
import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, listService, ONE_USDC } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("disputes that may have expired", () => {
  let api: TestApi;
  let market: Market;

  before(async () => {
    api = await startTestApi();
    const chain = await openChain("base-sepolia");
    const [buyer, seller] = await Promise.all([api.registerAgent(), api.registerAgent()]);
    await chain.endow(seller.account);
    await chain.endow(buyer.account, { usdc: 10n * ONE_USDC });
    const serviceId = await listService(api, seller, { price: 1 });
    market = { api, chain, buyer, seller, serviceId };
  });
  after(async () => {
    await api.close();
  });

  async function disputed(): Promise<{ escrowId: `0x${string}`; disputedAt: number }> {
    const { transactionId, paymentInstructions } = await fundedDeal(market);
    const { escrowId } = paymentInstructions;
    await deliverDeal(market, transactionId, { answer: 42 });
    await act(api, market.chain, market.buyer, transactionId, "openDispute");
    return until("the subgraph has the dispute", async () => {
      const { escrows } = await api.container.indexers["base-sepolia"].escrows([escrowId]);
      const { id, disputedAt = null } = escrows.get(escrowId.toLowerCase()) ?? {};
      return id !== undefined && disputedAt !== null && { escrowId: id, disputedAt };
    });
  }

  it("are those before the time, in the order of their ids, page by page", async () => {
    const indexer = api.container.indexers["base-sepolia"];
    const [one, two] = [await disputed(), await disputed()].sort((a, b) => (a.escrowId < b.escrowId ? -1 : 1));
    assert.ok(one !== undefined && two !== undefined);
    const after = async (time: number, id: `0x${string}`) => (await indexer.disputedBefore(time, id, 1_000)).escrowIds;
    const late = Math.max(one.disputedAt, two.disputedAt) + 1;

    const all = await after(late, "0x");
    assert.includeMembers(all, [one.escrowId, two.escrowId]);
    assert.deepEqual(all, all.toSorted());
    assert.notInclude(await after(one.disputedAt, "0x"), one.escrowId);
    const rest = await after(late, one.escrowId);
    assert.include(rest, two.escrowId);
    assert.notInclude(rest, one.escrowId);
    assert.lengthOf((await indexer.disputedBefore(late, "0x", 1)).escrowIds, 1);
  });

  it("don't include escrows that aren't disputed", async () => {
    const { transactionId, paymentInstructions } = await fundedDeal(market);
    const { escrowId } = paymentInstructions;
    await deliverDeal(market, transactionId, { answer: 42 });
    const { escrowIds } = await api.container.indexers["base-sepolia"].disputedBefore(2 ** 31, "0x", 1_000);
    assert.notInclude(escrowIds, escrowId.toLowerCase());
  });
});
