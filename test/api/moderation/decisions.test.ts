// What an operator's decisions change, in both directions, and what they never touch (decision 59).
import { assert } from "chai";

import { RATE_LIMITS } from "../../../api/config/constants.ts";
import type { RateClass } from "../../../api/config/constants.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import {
  act,
  checkOut,
  deliverDeal,
  fundedDeal,
  listService,
  openMarket,
  readTransaction,
} from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { moderationCalls } from "../../fixtures/moderation.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const ENOUGH = Object.fromEntries(Object.keys(RATE_LIMITS).map((name) => [name, 10_000])) as Record<RateClass, number>;
const NOBODY = "lst_019aa5c0b3f1d2c4a9e07b5f6d812233";

describe("moderation", () => {
  let api: TestApi;
  let market: Market;
  let stranger: TestAgent;

  before(async () => {
    const timings = { feedMaxAgeMs: 0, sitemapMaxAgeMs: 0, publicAnswerMs: 0 };
    api = await startTestApi({
      env: { adminApiKey: ADMIN_KEY, limits: limitsWith(ENOUGH) },
      timings,
      runsLoops: true,
    });
    market = await openMarket(api, await openChain("base-sepolia"));
    stranger = await api.registerAgent();
  });
  after(() => api.close());

  const { decide, decided, decisionsAbout, eventsOf } = moderationCalls(() => api);
  const get = (path: string, key?: string) => api.request("GET", path, key === undefined ? {} : { key });
  const order = (fields: object = {}, buyer = market.buyer) =>
    api.request("POST", "/api/v1/checkout", {
      key: buyer.apiKey,
      body: { serviceId: market.serviceId, paymentMethod: "usdc", ...fields },
    });

  /** Where the public finds a listing now. */
  async function foundIn(id: string, seller: TestAgent): Promise<string[]> {
    const ids = (answer: { body: any }) => JSON.stringify(answer.body);
    const { apiKey: key } = stranger;
    const found = {
      list: ids(await get(`/api/v1/services?sellerId=${seller.agentId}`, key)),
      byPrice: ids(await get("/api/v1/services?sort=price_asc&maxPrice=1000&limit=100", key)),
      search: ids(await get("/api/v1/services?q=token%20risk%20report&limit=100", key)),
      discover: ids(await api.request("POST", "/api/v1/discover", { body: { query: "token risk report" } })),
      newest: ids(await get("/api/v1/market/listings?limit=100")),
      seller: (await get(`/api/v1/market/agents/${seller.account.address}`)).text,
      page: (await get(`/api/v1/market/listings/${id}`)).text.replace(/"details":.*/, ""),
      record: (await get(`/api/v1/services/${id}`, key)).text.replace(/"details":.*/, ""),
      feed: await fetch(`${api.ownUrl}/feed.atom`).then((answer) => answer.text()),
      sitemap: await fetch(`${api.ownUrl}/sitemap-listings-1.xml`).then((answer) => answer.text()),
    };
    return Object.entries(found).flatMap(([place, text]) => (text.includes(id) ? [place] : []));
  }
  const EVERYWHERE = ["list", "byPrice", "search", "discover", "newest", "seller", "page", "record", "feed", "sitemap"];

  it("[D59] hides a listing from lists, search, market, feed and site map, and restores it", async () => {
    const { serviceId, seller } = market;
    assert.deepEqual(await foundIn(serviceId, seller), EVERYWHERE);
    const { id, at } = await decided("hide", "listing", serviceId, { reason: "spam", text: "<b>It is a copy.</b>" });
    assert.deepEqual(await foundIn(serviceId, seller), []);
    assertError(await order(), 409, "listing_hidden");

    const own = await get(`/api/v1/services/${serviceId}`, seller.apiKey);
    const moderation = { decisionId: id, state: "hidden", reason: "spam", text: "<b>It is a copy.</b>", at };
    assert.deepEqual([own.body.data.status, own.body.data.moderation], ["active", moderation]);
    const ownList = await get(`/api/v1/services?sellerId=${seller.agentId}`, seller.apiKey);
    assert.deepEqual(ownList.body.data[0].moderation, moderation);
    const path = `/api/v1/services/${serviceId}/visibility`;
    const visibility = await api.request("POST", path, { key: seller.apiKey, body: { query: "risk" } });
    assertError(visibility, 409, "listing_hidden");

    await decided("restore", "listing", serviceId);
    assert.deepEqual(await foundIn(serviceId, seller), EVERYWHERE);
    assert.notProperty((await get(`/api/v1/services/${serviceId}`, seller.apiKey)).body.data, "moderation");
    assert.strictEqual((await order()).status, 200);
  });

  it("[D59] a seller's change of a hidden listing doesn't show it again", async () => {
    const { serviceId, seller } = market;
    await decided("hide", "listing", serviceId);
    for (const status of ["paused", "active"]) {
      const body = { status, title: "Token risk report" };
      const changed = await api.request("PATCH", `/api/v1/services/${serviceId}`, { key: seller.apiKey, body });
      assert.strictEqual(changed.body.data.moderation.state, "hidden", changed.text);
    }
    assert.deepEqual(await foundIn(serviceId, seller), []);
    await decided("restore", "listing", serviceId);
  });

  it("[D59] suspends a seller with every listing, the new ones too, but for those hidden by themselves", async () => {
    const { serviceId, seller } = market;
    const other = await listService(api, seller, { title: "Another token risk report" });
    await decided("hide", "listing", other);
    const { id } = await decided("suspend", "agent", seller.agentId, { text: "Three buyers were cheated." });
    assert.deepEqual(await foundIn(serviceId, seller), []);
    const refused = await order();
    assertError(refused, 403, "agent_suspended");
    assert.deepEqual(refused.body.details, { role: "seller" }, "the buyer doesn't read why");
    const later = await listService(api, seller, { title: "A later token risk report" });
    assert.deepEqual(await foundIn(later, seller), []);
    const own = await get(`/api/v1/services/${later}`, seller.apiKey);
    assert.include(own.body.data.moderation, { decisionId: id, state: "suspended" });

    await decided("restore", "agent", seller.agentId);
    assert.deepEqual(await foundIn(serviceId, seller), EVERYWHERE);
    assert.deepEqual(await foundIn(later, seller), EVERYWHERE);
    assert.deepEqual(await foundIn(other, seller), [], "its own decision stays");
    await decided("restore", "listing", other);
    assert.strictEqual((await order()).status, 200);
  });

  it("[D59] a suspended buyer can't check out, by an intent neither, and reads why", async () => {
    const { buyer } = market;
    const before = await checkOut(market, { intentId: "before", again: true });
    const { id } = await decided("suspend", "agent", buyer.agentId, { text: "It never accepts." });
    for (const fields of [{}, { intentId: "after", again: true }]) {
      const refused = await order(fields);
      assertError(refused, 403, "agent_suspended");
      const why = { role: "buyer", decisionId: id, reason: "fraud", text: "It never accepts." };
      assert.deepEqual(refused.body.details, why);
    }
    const repeat = await order({ intentId: "before", again: true });
    assert.strictEqual(repeat.body.data?.transactionId, before.transactionId, "that one isn't new");
    await decided("restore", "agent", buyer.agentId);
    assert.strictEqual((await order({ intentId: "after", again: true })).status, 200);
  });

  it("[D59] never touches a deal: one goes to its end while both parties are suspended and its listing is hidden", async () => {
    const { buyer, seller, chain, serviceId } = market;
    const { transactionId } = await fundedDeal(market, { requestPayload: { token: "0x12" } });
    await decided("hide", "listing", serviceId);
    await decided("suspend", "agent", buyer.agentId);
    await decided("suspend", "agent", seller.agentId);

    const message = { toAgentId: seller.agentId, contentType: "text/plain", body: "How is it going?" };
    const sent = await api.request("POST", "/api/v1/messages", { key: buyer.apiKey, body: message });
    assert.strictEqual(sent.status, 201, sent.text);
    await deliverDeal(market, transactionId);
    await act(api, chain, buyer, transactionId, "accept");
    await until("the deal is released", async () => {
      return (await readTransaction(api, buyer, transactionId)).status === "released";
    });
    const { responsePayload } = await readTransaction(api, buyer, transactionId);
    assert.deepEqual(responsePayload, { answer: 42 });
    const criteria = await get(`/api/v1/transactions/${transactionId}/criteria`, buyer.apiKey);
    assert.strictEqual(criteria.status, 200, criteria.text);

    for (const { agentId } of [buyer, seller]) await decided("restore", "agent", agentId);
    await decided("restore", "listing", serviceId);
  });

  it("[D59] tells the agent by an event, and keeps each decision for the operator", async () => {
    const { agentId } = stranger;
    const suspended = await decided("suspend", "agent", agentId, { reason: "other", text: '{{hidden}} & "quoted"?' });
    const restored = await decided("restore", "agent", agentId, { reason: "appeal" });
    assert.strictEqual(restored.ends, suspended.id);
    const events = await eventsOf(stranger);
    assert.deepEqual(
      events.map(({ event, decisionId }) => [event, decisionId]),
      [
        ["agent.suspended", suspended.id],
        ["agent.restored", restored.id],
      ],
    );
    assert.deepInclude(events[0] as object, {
      subject: { type: "agent", id: agentId },
      reason: "other",
      text: '{{hidden}} & "quoted"?',
    });
    assert.deepEqual(
      (await decisionsAbout(agentId)).map(({ id }) => id),
      [restored.id, suspended.id],
    );
    const page = await api.request("GET", "/api/v1/admin/moderation?limit=1", AS_ADMIN);
    const next = `/api/v1/admin/moderation?limit=1&cursor=${page.body.nextCursor}`;
    const second = await api.request("GET", next, AS_ADMIN);
    assert.deepEqual([page.body.data[0].id, second.body.data[0].id], [restored.id, suspended.id]);
    const uses = await api.container.connection.collection("admin_uses").countDocuments({
      requestId: page.body.data[0].requestId,
    });
    assert.strictEqual(uses, 1, "a decision names its call in the audit of the key");
  });

  it("[D59] a repeat, and several at once, are one decision", async () => {
    const { agentId } = stranger;
    const count = (await decisionsAbout(agentId)).length;
    const made = await Promise.all(Array.from({ length: 6 }, () => decided("suspend", "agent", agentId)));
    const again = await decided("suspend", "agent", agentId, { reason: "spam" });
    assert.strictEqual(new Set([...made, again].map(({ id }) => id)).size, 1);
    const [restored, twice] = [await decided("restore", "agent", agentId), await decided("restore", "agent", agentId)];
    assert.strictEqual(restored.id, twice.id);
    assert.lengthOf(await decisionsAbout(agentId), count + 2);
  });

  it("[D59] a repeat with the Idempotency-Key of a decision that was ended doesn't decide again", async () => {
    const { agentId } = stranger;
    const options = { headers: { ...AS_ADMIN.headers, "Idempotency-Key": `once-${agentId}` } };
    const body = { subject: { type: "agent", id: agentId }, action: "suspend", reason: "spam", text: "Once." };
    const first = await api.request("POST", "/api/v1/admin/moderation", { ...options, body });
    await decided("restore", "agent", agentId);
    const repeat = await api.request("POST", "/api/v1/admin/moderation", { ...options, body });
    assert.strictEqual(repeat.text, first.text);
    assert.strictEqual((await decisionsAbout(agentId))[0]?.action, "restore");
  });

  describe("refuses", () => {
    it("[D59] what is unknown, what doesn't fit its subject, and what was never decided", async () => {
      assertError(await decide("hide", "listing", NOBODY), 404, "not_found");
      assertError(await decide("suspend", "agent", NOBODY), 404, "not_found");
      const untouched = await listService(api, market.seller);
      assertError(await decide("restore", "listing", untouched), 409, "not_moderated");
      assertInvalid(await decide("hide", "agent", market.buyer.agentId), "body.subject.type");
      assertInvalid(await decide("suspend", "listing", market.serviceId), "body.subject.type");
      assertInvalid(await decide("hide", "listing", market.serviceId, { reason: "appeal" }), "body.reason");
      assertInvalid(await decide("restore", "listing", market.serviceId, { reason: "fraud" }), "body.reason");
      assertInvalid(await decide("hide", "listing", market.serviceId, { text: "x".repeat(1_001) }), "body.text");
      assertInvalid(await decide("hide", "listing", market.serviceId, { text: "\u202etxet" }), "body.text");
    });

    it("[D59] agents: only the admin key decides and reads decisions", async () => {
      const body = { subject: { type: "agent", id: stranger.agentId }, action: "suspend", reason: "spam", text: "No." };
      for (const authorization of ["", `Bearer ${market.buyer.apiKey}`]) {
        const headers = { authorization };
        const path = "/api/v1/admin/moderation";
        assertError(await api.request("POST", path, { headers, body }), 401, "invalid_api_key");
        assertError(await api.request("GET", path, { headers }), 401, "invalid_api_key");
      }
      assert.strictEqual((await order({}, stranger)).body.code, "insufficient_token_balance");
    });
  });
});
