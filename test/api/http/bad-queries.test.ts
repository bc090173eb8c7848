import { assert } from "chai";

import { pathsOf } from "../../../api/http/define-route.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { DESCRIPTIONS, operationsOf } from "../../fixtures/description.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { changesNothing } from "../../fixtures/stored.ts";

const UNKNOWN_TRANSACTION = `txn_${"0".repeat(32)}`;
const JOBS = "/api/v1/jobs";
const EVENTS = "/api/v1/events";
const SERVICES = "/api/v1/services";
const TRANSACTIONS = "/api/v1/transactions";
const WEBHOOKS = "/api/v1/webhooks";
const DELIVERIES = "/api/v1/webhooks/deliveries";

/** A cursor in the API's format. */
const cursorOf = (position: object) => `cursor=${Buffer.from(JSON.stringify(position)).toString("base64url")}`;
/** A cursor that is valid except for its length: blanks after JSON mean nothing. */
const longCursorOf = (position: object) =>
  `cursor=${Buffer.from(JSON.stringify(position) + " ".repeat(400)).toString("base64url")}`;
const AFTER_TRANSACTION = { after: UNKNOWN_TRANSACTION };
const AFTER_SERVICE = { sort: "newest", id: `lst_${"0".repeat(32)}` };
const AFTER_DELIVERY = { createdAt: 1_800_000_000_000, id: `dlv_${"0".repeat(32)}` };

describe("bad input in queries", () => {
  let api: TestApi;
  let caller: TestAgent;

  before(async () => {
    api = await startTestApi({ env: { adminApiKey: ADMIN_KEY } });
    caller = await api.registerAgent();
  });
  after(() => api.close());

  const queries: [path: string, query: string, place: string][] = [
    ["/api/v1/categories", "parent=defi", "query.parent"],
    ["/api/v1/networks", "network=base", "query.network"],
    ["/api/v1/agents/score", "", "query.address"],
    ["/api/v1/agents/score", "address=0x12", "query.address"],
    ["/api/v1/agents/score", "address=a&address=b", "query.address"],
    ["/api/v1/analytics/fractal", "length=0", "query.length"],
    ["/api/v1/analytics/fractal", "length=5.5", "query.length"],
    ["/api/v1/analytics/fractal", "metric=mood", "query.metric"],
    ["/api/v1/analytics/fractal", "scope=others", "query.scope"],
    ["/api/v1/analytics/market", "window=1y", "query.window"],
    ["/api/v1/analytics/market", "network=polygon", "query.network"],
    ["/api/v1/market/figures", "window=1y", "query.window"],
    [`/api/v1/market/agents/0x${"1".repeat(40)}`, "network=base", "query.network"],
    ["/api/v1/market/disputes", "network=polygon", "query.network"],
    ["/api/v1/market/disputes", "limit=101", "query.limit"],
    ["/api/v1/market/disputes", cursorOf({ settledAt: "now", id: "txn_1" }), "query.cursor"],
    ["/api/v1/market/status", "network=base", "query.network"],
    [`/api/v1/market/deals/0x${"0".repeat(64)}`, "network=polygon", "query.network"],
    ["/api/v1/market/listings", "sort=oldest", "query.sort"],
    ["/api/v1/market/listings", "limit=101", "query.limit"],
    ["/api/v1/market/listings", cursorOf({ sort: "newest", listing: 1 }), "query.cursor"],
    ["/api/v1/market/listings", cursorOf({ sort: "trusted", listing: "lst_1" }), "query.cursor"],
    ["/api/v1/agents/rebates", "limit=101", "query.limit"],
    ["/api/v1/agents/rebates", "cursor=nonsense", "query.cursor"],
    ["/api/v1/agents/rebates", "month=2026-10", "query.month"],
    ["/api/v1/agents/rebates/reb_unknown/settlements", "limit=0", "query.limit"],
    ["/api/v1/agents/rebates/reb_unknown/settlements", "cursor=nonsense", "query.cursor"],
    ["/api/v1/moderation/decisions", "limit=101", "query.limit"],
    ["/api/v1/moderation/decisions", "cursor=nonsense", "query.cursor"],
    ["/api/v1/moderation/decisions", "agentId=agt_other", "query.agentId"],
    ["/api/v1/services", "limit=101", "query.limit"],
    ["/api/v1/services", "limit=1e2", "query.limit"],
    ["/api/v1/services", "cursor=nonsense", "query.cursor"],
    ["/api/v1/services", "status=deleted", "query.status"],
    ["/api/v1/services", `q=${"x".repeat(1_001)}`, "query.q"],
    ["/api/v1/services", "offset=3", "query.offset"],
    ["/api/v1/transactions", "limit=0", "query.limit"],
    ["/api/v1/transactions", "limit=-1", "query.limit"],
    ["/api/v1/transactions", "status=paid", "query.status"],
    ["/api/v1/transactions", "role=admin", "query.role"],
    ["/api/v1/transactions", "network=polygon", "query.network"],
    ["/api/v1/transactions", `serviceId=${"x".repeat(101)}`, "query.serviceId"],
    ["/api/v1/transactions", "buyerAgentId=agt_other", "query.buyerAgentId"],
    [`/api/v1/transactions/${UNKNOWN_TRANSACTION}`, "minBlock=latest", "query.minBlock"],
    [`/api/v1/transactions/${UNKNOWN_TRANSACTION}/timeline`, "kind=rumour", "query.kind"],
    [`/api/v1/transactions/${UNKNOWN_TRANSACTION}/timeline`, "limit=101", "query.limit"],
    [`/api/v1/transactions/${UNKNOWN_TRANSACTION}/timeline`, cursorOf(AFTER_TRANSACTION), "query.cursor"],
    ["/api/v1/webhooks/deliveries", "status=lost", "query.status"],
    ["/api/v1/webhooks/deliveries", "agentId=agt_other", "query.agentId"],
    [SERVICES, "sellerId=", "query.sellerId"],
    [SERVICES, `sellerId=${"x".repeat(65)}`, "query.sellerId"],
    [SERVICES, longCursorOf(AFTER_SERVICE), "query.cursor"],
    [SERVICES, "maxPrice=cheap", "query.maxPrice"],
    [SERVICES, "maxPrice=", "query.maxPrice"],
    [SERVICES, "maxPrice=0x10", "query.maxPrice"],
    [SERVICES, "minTrustScore=high", "query.minTrustScore"],
    [SERVICES, "minTrustScore=5e-1", "query.minTrustScore"],
    [SERVICES, "minTrustScore=-0.01", "query.minTrustScore"],
    [TRANSACTIONS, "limit=101", "query.limit"],
    [TRANSACTIONS, "limit=2.5", "query.limit"],
    [TRANSACTIONS, longCursorOf(AFTER_TRANSACTION), "query.cursor"],
    [TRANSACTIONS, cursorOf(AFTER_SERVICE), "query.cursor"],
    [JOBS, "network=polygon", "query.network"],
    [JOBS, "network=", "query.network"],
    [JOBS, "limit=0", "query.limit"],
    [JOBS, "limit=101", "query.limit"],
    [JOBS, "limit=2.5", "query.limit"],
    [JOBS, "limit=ten", "query.limit"],
    [JOBS, "status=released", "query.status"],
    [JOBS, "cursor=nonsense", "query.cursor"],
    [JOBS, cursorOf(AFTER_SERVICE), "query.cursor"],
    [JOBS, cursorOf({ after: 7 }), "query.cursor"],
    [JOBS, longCursorOf(AFTER_TRANSACTION), "query.cursor"],
    [EVENTS, "type=escrow.created", "query.type"],
    [EVENTS, "type=order.funded", "query.type"],
    [EVENTS, "type=", "query.type"],
    [EVENTS, "transactionId=", "query.transactionId"],
    [EVENTS, `transactionId=${"x".repeat(101)}`, "query.transactionId"],
    [EVENTS, "limit=0", "query.limit"],
    [EVENTS, "limit=101", "query.limit"],
    [EVENTS, "limit=2.5", "query.limit"],
    [EVENTS, "limit=ten", "query.limit"],
    [EVENTS, "after=7", "query.after"],
    [EVENTS, `after=evt_${"0".repeat(65)}`, "query.after"],
    // Well-formed, but the id of no event.
    [EVENTS, `after=evt_${"0".repeat(64)}`, "query.after"],
    [EVENTS, cursorOf(AFTER_TRANSACTION), "query.cursor"],
    [WEBHOOKS, "limit=0", "query.limit"],
    [WEBHOOKS, "limit=101", "query.limit"],
    [WEBHOOKS, "limit=2.5", "query.limit"],
    [WEBHOOKS, "cursor=nonsense", "query.cursor"],
    [WEBHOOKS, cursorOf(AFTER_SERVICE), "query.cursor"],
    [WEBHOOKS, longCursorOf(AFTER_TRANSACTION), "query.cursor"],
    [WEBHOOKS, "status=active", "query.status"],
    [DELIVERIES, "webhookId=", "query.webhookId"],
    [DELIVERIES, `webhookId=${"x".repeat(65)}`, "query.webhookId"],
    [DELIVERIES, "transactionId=", "query.transactionId"],
    [DELIVERIES, `transactionId=${"x".repeat(101)}`, "query.transactionId"],
    [DELIVERIES, "limit=0", "query.limit"],
    [DELIVERIES, "limit=101", "query.limit"],
    [DELIVERIES, "limit=2.5", "query.limit"],
    [DELIVERIES, "limit=ten", "query.limit"],
    [DELIVERIES, "cursor=nonsense", "query.cursor"],
    [DELIVERIES, cursorOf(AFTER_TRANSACTION), "query.cursor"],
    [DELIVERIES, cursorOf({ ...AFTER_DELIVERY, createdAt: "now" }), "query.cursor"],
    [DELIVERIES, longCursorOf(AFTER_DELIVERY), "query.cursor"],
  ];
  for (const [path, query, place] of queries) {
    it(`${path}?${query.slice(0, 40)} is a validation error that changes nothing`, () =>
      changesNothing(api, [caller.agentId], async () => {
        assertInvalid(await api.request("GET", `${path}?${query}`, { key: caller.apiKey }), place);
      }));
  }

  it("accepts the cursors from which the faults above were made", async () => {
    const taken: [path: string, position: object][] = [
      [SERVICES, AFTER_SERVICE],
      [TRANSACTIONS, AFTER_TRANSACTION],
      [JOBS, AFTER_TRANSACTION],
      [WEBHOOKS, AFTER_TRANSACTION],
      [DELIVERIES, AFTER_DELIVERY],
    ];
    for (const [path, position] of taken) {
      const { status, text } = await api.request("GET", `${path}?${cursorOf(position)}`, { key: caller.apiKey });
      assert.strictEqual(status, 200, text);
    }
  });

  it("[D33] GET /docs/{file} is a 404 not_found for a file that the page doesn't load, even for one from the package", async () => {
    for (const file of ["index.html", "package.json", "START.JS", "..%2Fpackage.json", "%00", "constructor"]) {
      assertError(await api.request("GET", `/docs/${file}`), 404, "not_found");
    }
    assertInvalid(await api.request("GET", `/docs/${"x".repeat(101)}`), "params.file");
  });

  it("refuses an undeclared parameter on every route that is described, and does nothing", async () => {
    const described = DESCRIPTIONS.flatMap(operationsOf);
    assert.ok(described.length > 30, "nothing is tried");
    for (const { method, path } of described) {
      // It looks at nothing before the sender's signature: chain-push.test.ts.
      if (path.startsWith("/internal/")) continue;
      for (const spelling of pathsOf(path)) {
        const filled = spelling.replaceAll("{file}", "start.js").replaceAll(/\{\w+\}/g, UNKNOWN_TRANSACTION);
        for (const query of ["noSuchParameter=1", "noSuchParameter", "noSuchParameter=1&noSuchParameter=2"]) {
          const body = method === "GET" ? {} : { body: {} };
          const key = /[/-]admin[/.]/.test(path) ? AS_ADMIN : { key: caller.apiKey };
          const answer = await api.request(method, `${filled}?${query}`, { ...key, ...body });
          assertInvalid(answer, "query.noSuchParameter");
        }
      }
    }
    // DELETE /auth/keys was among them.
    assert.strictEqual((await api.request("GET", "/api/v1/services", { key: caller.apiKey })).status, 200);
  });
});
