import { randomUUID } from "node:crypto";

import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { connectMcp, MCP_CLIENTS, repeatUntilDone, signAsked } from "../../fixtures/mcp.ts";
import type { McpCaller, McpClientKind } from "../../fixtures/mcp.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const GOOD = { summary: "Two risks." };

describe("deals through the hosted tools", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  const callers: McpCaller[] = [];

  before(async () => {
    // The lists follow the chain.
    api = await startTestApi({ runsLoops: true });
    chain = await openChain("base-sepolia");
  });
  beforeEach(async () => {
    market = await openMarket(api, chain);
  });
  afterEach(async () => {
    for (const caller of callers.splice(0)) await caller.close();
  });
  after(() => api.close());

  async function connect(kind: McpClientKind, agent: Market["buyer"]): Promise<McpCaller> {
    const caller = await connectMcp(api.url, kind, { key: agent.apiKey });
    callers.push(caller);
    return caller;
  }

  const order = (fields: Record<string, unknown> = {}) => ({
    intentId: randomUUID(),
    serviceId: market.serviceId,
    maxPrice: "2.50",
    request: { token: "0x1" },
    waitSeconds: 0,
    ...fields,
  });

  for (const [index, kind] of MCP_CLIENTS.entries()) {
    const other = MCP_CLIENTS[(index + 1) % MCP_CLIENTS.length] ?? kind;
    it(`are bought by a client of ${kind} and sold by one of ${other}, to the released deal`, async () => {
      const buyer = await connect(kind, market.buyer);
      const seller = await connect(other, market.seller);
      const wish = order();
      const asked = await buyer.ask("hire", wish);
      const txHash = await signAsked(chain, market.buyer, asked);
      const paid = await buyer.ask("hire", { ...wish, txHash });
      assert.include(paid, {
        result: "pending",
        state: "funded",
        dealId: asked["dealId"],
        txHash,
        pollAfterSeconds: 5,
      });
      const { dealId } = paid as { dealId: string };

      const job = await until("the job is in the seller's list", async () => {
        const { jobs } = await seller.ask("my_jobs");
        return (jobs as Record<string, any>[])[0];
      });
      assert.deepInclude(job["request"], { untrusted: true, text: '{"token":"0x1"}' });
      const handed = { intentId: "d", dealId, payload: GOOD };
      const delivery = await signAsked(chain, market.seller, await seller.ask("deliver", handed));
      assert.include(await repeatUntilDone(seller, "deliver", handed), { state: "delivered", txHash: delivery });

      // A repeat of the purchase finds the deal, with its result.
      const delivered = await buyer.ask("hire", wish);
      assert.include(delivered, { dealId, result: "done" });
      assert.strictEqual(delivered["delivery"].text, JSON.stringify(GOOD));
      const agreed = { intentId: "a", dealId };
      const release = await signAsked(chain, market.buyer, await buyer.ask("accept", agreed));
      assert.include(await repeatUntilDone(buyer, "accept", agreed), { state: "released", txHash: release });
      assert.strictEqual(await chain.usdcOf(market.seller.walletAddress), 2_450_000n);
      assert.strictEqual(await chain.usdcOf(market.buyer.walletAddress), 97_500_000n);
    });
  }

  it("are the same purchase whichever client and key repeats the intent", async () => {
    const wish = order();
    const [one, two] = [await connect("2026-07-28", market.buyer), await connect("1.32", market.buyer)];
    const found = await Promise.all([one.ask("hire", wish), two.ask("hire", wish), one.ask("hire", wish)]);
    assert.strictEqual(new Set(found.map(({ dealId }) => String(dealId))).size, 1);
    assert.include(await two.refusal("hire", { ...wish, quantity: 2 }), { code: "intent_conflict" });
  });

  it("are seen by their parties alone, as a tool and as a resource", async () => {
    const buyer = await connect("2026-07-28", market.buyer);
    const { dealId } = await buyer.ask("hire", order());
    const uri = `deal://${String(dealId)}`;
    const { contents } = (await buyer.client.readResource({ uri })) as { contents: { text: string }[] };
    assert.include(JSON.parse(contents[0]?.text ?? ""), { dealId, role: "buyer" });
    const stranger = await connect("2026-07-28", await api.registerAgent());
    for (const [name, input] of [
      ["get_deal", { dealId }],
      ["review_delivery", { dealId }],
      ["accept", { dealId, intentId: "a" }],
      ["deliver", { dealId, intentId: "d", payload: GOOD }],
    ] as const) {
      assert.include(await stranger.refusal(name, input), { code: "not_found" }, name);
    }
    const failure = await stranger.client.readResource({ uri }).catch((error: unknown) => error);
    assert.deepInclude(failure as object, { code: -32602, data: { uri } });
  });
});
