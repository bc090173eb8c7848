// A model's typical repeats: with a new key, a day later, and after its process has died in the middle of a call.
import { randomUUID } from "node:crypto";

import { assert } from "chai";

import { startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { ONE_USDC, openMarket } from "../fixtures/deals.ts";
import type { Market } from "../fixtures/deals.ts";
import { killTool } from "../fixtures/killed-tools.ts";
import type { Death } from "../fixtures/killed-tools.ts";
import { keyRequestBody } from "../fixtures/sign-in.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";
import { callerOf } from "../fixtures/tools.ts";
import { until } from "../fixtures/until.ts";

const LATER_MS = 25 * 3_600_000;
const SENT = "eth_sendRawTransaction";
const REPORTED = "POST /api/v1/transactions/{id}/fund";

describe("a repeated call of a tool", () => {
  let api: TestApi;
  /** The same service, 25 hours later. */
  let later: TestApi;
  let chain: TestChain;
  let market: Market;

  before(async () => {
    api = await startTestApi();
    const clock = { now: () => new Date(Date.now() + LATER_MS) };
    later = await startTestApi({ databaseName: api.container.connection.name, clock });
    chain = await openChain("base-sepolia");
  });
  beforeEach(async () => {
    market = await openMarket(api, chain);
  });
  after(async () => {
    await later.stop();
    await api.close();
  });

  /** The agent with a key that it hasn't used yet. */
  const withNewKey = async (agent: TestAgent): Promise<TestAgent> => {
    const body = { ...(await keyRequestBody(agent.account)), revokeOthersAfterSeconds: 3_600 };
    const { body: signedIn } = await api.request("POST", "/api/v1/auth/keys", { body });
    assert.notStrictEqual(signedIn.apiKey, agent.apiKey);
    return { ...agent, apiKey: signedIn.apiKey as string };
  };

  describe("hire", () => {
    const spent = async () => 100n * ONE_USDC - (await chain.usdcOf(market.buyer.walletAddress));
    const order = () => ({
      intentId: randomUUID(),
      serviceId: market.serviceId,
      maxPrice: "2.50",
      request: { token: "0x1" },
      waitSeconds: 0,
    });
    const records = () => api.container.features.transactions.models.transactions;

    const deaths: readonly [string, Death, bigint][] = [
      ["between checkout and funding", { when: "after", at: "POST /api/v1/checkout" }, 0n],
      ["between approval and escrow", { when: "after", at: SENT }, 0n],
      ["when the escrow was sent", { when: "after", at: SENT, number: 2 }, 2_500_000n],
      ["between funding and its report", { when: "before", at: REPORTED }, 2_500_000n],
      ["when the funding was reported", { when: "after", at: REPORTED }, 2_500_000n],
    ];
    for (const [when, death, paidBefore] of deaths) {
      it(`[D56] pays once when its process has died ${when}`, async () => {
        const wish = order();
        await killTool({ api, chain, agent: market.buyer, tool: "hire", input: wish }, death);
        // What was sent may wait for its block.
        await until("the chain has what was sent", async () => (await spent()) === paidBefore);
        const buyer = callerOf(api, chain, market.buyer);
        const repeated = await buyer.ask("hire", wish);
        assert.include(repeated, { result: "pending", state: "funded" });
        assert.strictEqual((await buyer.ask("hire", wish))["dealId"], repeated["dealId"]);
        assert.strictEqual(await spent(), 2_500_000n);
        assert.strictEqual(await records().countDocuments({ intentId: wish.intentId }), 1);
      });
    }
  });

  const kinds = [
    {
      tool: "offer_service",
      path: "POST /api/v1/services",
      input: (): Record<string, unknown> => ({
        intentId: randomUUID(),
        title: "Audit of a token",
        description: "Reads the contract of a token and lists what could go wrong.",
        category: "risk_assessment",
        price: 2.5,
        priceUnit: "per_document",
      }),
      other: { title: "Audit of another token" },
      idOf: ({ serviceId }: Record<string, any>) => String(serviceId),
      agent: () => market.seller,
      count: (agent: TestAgent) =>
        api.container.features.listings.models.listings.countDocuments({ sellerAgentId: agent.agentId }),
    },
    {
      tool: "send_message",
      path: "POST /api/v1/messages",
      input: (): Record<string, unknown> => ({
        intentId: randomUUID(),
        toAgentId: market.seller.agentId,
        text: "When do you deliver?",
      }),
      other: { text: "When will you deliver?" },
      idOf: ({ messageId }: Record<string, any>) => String(messageId),
      agent: () => market.buyer,
      count: (agent: TestAgent) =>
        api.container.features.messages.models.messages.countDocuments({ fromAgentId: agent.agentId }),
    },
  ] as const;

  for (const { tool, path, input, other, idOf, agent, count } of kinds) {
    describe(tool, () => {
      it("[D56] makes one record, with a new key and after 25 hours", async () => {
        const wish = input();
        const first = await callerOf(api, chain, agent()).ask(tool, wish);
        const made = await count(agent());
        const renewed = await withNewKey(agent());
        assert.strictEqual(idOf(await callerOf(api, chain, renewed).ask(tool, wish)), idOf(first));
        // The database deletes them after a day.
        await api.container.connection.collection("idempotency_keys").deleteMany({});
        const muchLater = callerOf(later, chain, renewed);
        assert.strictEqual(idOf(await muchLater.ask(tool, wish)), idOf(first));
        assert.strictEqual(await count(agent()), made);
      });

      for (const when of ["before", "after"] as const) {
        it(`[D56] makes one record when its process has died ${when} the service had made it`, async () => {
          const wish = input();
          const before = await count(agent());
          await killTool({ api, chain, agent: agent(), tool, input: wish }, { when, at: path });
          assert.strictEqual(await count(agent()), before + (when === "after" ? 1 : 0));
          const caller = callerOf(api, chain, agent());
          const first = await caller.ask(tool, wish);
          assert.strictEqual(idOf(await caller.ask(tool, wish)), idOf(first));
          assert.strictEqual(await count(agent()), before + 1);
        });
      }

      it("[D56] is an intent_conflict with other arguments, and makes nothing", async () => {
        const wish = input();
        const caller = callerOf(api, chain, agent());
        const first = await caller.ask(tool, wish);
        const made = await count(agent());
        const refused = await caller.refusal(tool, { ...wish, ...other });
        assert.strictEqual(refused.code, "intent_conflict");
        assert.include(refused.message, idOf(first));
        assert.strictEqual(await count(agent()), made);
      });
    });
  }
});
