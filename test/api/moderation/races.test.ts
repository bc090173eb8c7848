// Decisions at the same time as checkouts and new listings, and decisions killed at each write (decision 59).
import { assert } from "chai";

import { RATE_LIMITS } from "../../../api/config/constants.ts";
import type { RateClass } from "../../../api/config/constants.ts";
import { withTransaction } from "../../../api/db/connection.ts";
import { createTradeGate } from "../../../api/features/agents/trade-gate.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { moderationCalls } from "../../fixtures/moderation.ts";
import { openChain } from "../../fixtures/stack.ts";

const ENOUGH = Object.fromEntries(Object.keys(RATE_LIMITS).map((name) => [name, 10_000])) as Record<RateClass, number>;

describe("a decision of moderation, at the same time as others", () => {
  const oneProcess = "the test stops one of its processes at each write";
  let api: TestApi;
  let route: FaultyRoute;
  let victim: TestApi;
  let market: Market;

  before(async () => {
    const env = { adminApiKey: ADMIN_KEY, limits: limitsWith(ENOUGH) };
    api = await startTestApi({ oneProcess, env });
    route = await faultyDatabase((await readStack()).mongodbUri);
    const { name: databaseName } = api.container.connection;
    victim = await startTestApi({ oneProcess, databaseName, env: { ...env, mongodbUri: route.url } });
    market = await openMarket(api, await openChain("base-sepolia"));
  });
  after(async () => {
    await victim.stop();
    await api.close();
    await route.close();
  });

  const { decided, decisionsAbout, eventsOf } = moderationCalls(() => api);
  const checkOut = () => {
    const body = { serviceId: market.serviceId, paymentMethod: "usdc" };
    return api.request("POST", "/api/v1/checkout", { key: market.buyer.apiKey, body });
  };
  const deals = () =>
    api.container.features.transactions.models.transactions.countDocuments({ buyerAgentId: market.buyer.agentId });

  /** Runs a transaction that has seen the database before a decision, and goes on after it; returns how often it ran. */
  async function overtaken(decide: () => Promise<unknown>, goOn: Parameters<typeof withTransaction<void>>[1]) {
    const { listings } = api.container.features.listings.models;
    let runs = 0;
    await withTransaction(api.container.connection, async (session) => {
      await listings.findById(market.serviceId, null, { session });
      runs += 1;
      if (runs === 1) await decide();
      await goOn(session);
    });
    return runs;
  }

  it("[D59] overtakes no new listing of its seller", async () => {
    const { agentId } = market.seller;
    const gate = createTradeGate(api.container.connection);
    let state: string | undefined;
    const runs = await overtaken(
      () => decided("suspend", "agent", agentId),
      async (session) => {
        state = (await gate.standing(agentId, session))?.state;
      },
    );
    assert.deepEqual([runs, state], [2, "suspended"]);
    await decided("restore", "agent", agentId);
  });

  it("[D59] raced with checkouts, lets those that had begun go on, and refuses all that come after its answer", async () => {
    for (const agentId of [market.seller.agentId, market.buyer.agentId]) {
      const before = await deals();
      const begun = Array.from({ length: 8 }, () => checkOut());
      await Promise.race(begun);
      await decided("suspend", "agent", agentId);
      const late = await Promise.all([checkOut(), checkOut()]);
      for (const answer of late) assertError(answer, 403, "agent_suspended");
      const answers = await Promise.all(begun);
      const made = answers.filter(({ status }) => status === 200);
      for (const answer of answers) if (answer.status !== 200) assertError(answer, 403, "agent_suspended");
      assert.strictEqual(await deals(), before + made.length);
      await decided("restore", "agent", agentId);
    }
  });

  it("[D59] killed at any write, is made whole by its repeat: one decision, one event, every listing", async () => {
    const { seller, serviceId } = market;
    const { agentId } = seller;
    const { listings, agents } = { ...api.container.features.listings.models, ...api.container.features.agents.models };
    let before: number[] = [];
    await killAtEachWrite({
      route,
      prepare: async () => {
        before = [(await decisionsAbout(agentId)).length, (await eventsOf(seller)).length];
      },
      work: async () => {
        const body = { subject: { type: "agent", id: agentId }, action: "suspend", reason: "spam", text: "Enough." };
        await victim.request("POST", "/api/v1/admin/moderation", { ...AS_ADMIN, body });
      },
      finish: async (what) => {
        const onAgent = (await agents.findById(agentId))?.moderation?.decisionId;
        const onListing = (await listings.findById(serviceId))?.suspension?.decisionId;
        assert.strictEqual(onListing, onAgent, what);
        const { id } = await decided("suspend", "agent", agentId);
        assert.strictEqual(onAgent ?? id, id, what);
        const made = [(await decisionsAbout(agentId)).length, (await eventsOf(seller)).length];
        assert.deepEqual(
          made,
          before.map((count) => count + 1),
          what,
        );
        await decided("restore", "agent", agentId);
      },
    });
  });
});
