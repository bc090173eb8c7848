// What a key with a mandate may call: every route says so itself.
import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { RATE_LIMITS } from "../../../api/config/constants.ts";
import type { RateClass } from "../../../api/config/constants.ts";
import { SCOPES } from "../../../api/http/scopes.ts";
import type { RouteScope, Scope } from "../../../api/http/scopes.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";

const KEYED = routes.filter(({ auth }) => auth !== "none" && auth !== "admin");
const USAGE = "/api/v1/auth/usage";
const ENOUGH = Object.fromEntries(Object.keys(RATE_LIMITS).map((name) => [name, 10_000])) as Record<RateClass, number>;

/** The scopes that open a route, as a reader of docs/api/mandates.md knows them. */
function openedBy(scope: RouteScope): Scope[] {
  return SCOPES.filter((one) => one === scope || (scope === "buyOrSell" && (one === "buy" || one === "sell")));
}

describe("scopes of a key", () => {
  let api: TestApi;
  let agent: TestAgent;
  before(async () => {
    api = await startTestApi({ env: { limits: limitsWith(ENOUGH) } });
    agent = await api.registerAgent();
  });
  after(() => api.close());

  const grant = (scopes: readonly Scope[]) =>
    api.container.features.limits.models.access.collection.updateOne({ _id: agent.agentId as never }, [
      { $set: { keys: { $map: { input: "$keys", as: "key", in: { $mergeObjects: ["$$key", { scopes }] } } } } },
    ]);

  it("open no route that shows secrets, or changes keys, approvals, webhooks or the profile", () => {
    const closed = KEYED.filter(({ scope }) => scope === "none").map(({ name }) => name);
    const isPrivate = (name: string) =>
      /^(keys|webhooks|kya|developers)\.|^messages\.registerWebhook$|^approvals\.(grant|decline)$|^agents\.linkIdentity$/.test(
        name,
      );
    assert.deepEqual(
      closed.filter((name) => !isPrivate(name)),
      [],
    );
    for (const { name, scope } of KEYED) if (isPrivate(name)) assert.strictEqual(scope, "none", name);
  });

  it("are no bar to a page where its owner decides about approvals, or looks at webhooks and sends again", () => {
    const opened = KEYED.flatMap(({ name, pageScope }) => (pageScope === undefined ? [] : [[name, pageScope]]));
    assert.sameDeepMembers(opened, [
      ["approvals.grant", "read"],
      ["approvals.decline", "buy"],
      ["webhooks.list", "read"],
      ["webhooks.read", "read"],
      ["webhooks.listDeliveries", "read"],
      ["webhooks.readDelivery", "read"],
      ["webhooks.redeliver", "sell"],
      ["webhooks.redeliverMissed", "sell"],
      ["webhooks.ping", "sell"],
    ]);
  });

  it("are read for what changes nothing, and never for what does", () => {
    for (const { name, scope, readsOnly } of KEYED) {
      if (scope === "read") assert.ok(readsOnly, `${name} changes something`);
      if (scope === "buy" || scope === "sell" || scope === "buyOrSell") {
        assert.ok(!readsOnly || name === "listings.checkVisibility", `${name} changes nothing`);
      }
    }
    const scopesOf = (tag: string) => [
      ...new Set(KEYED.filter((route) => route.tag === tag).map(({ scope }) => scope)),
    ];
    assert.deepEqual(scopesOf("Memory"), ["memory"]);
    assert.sameMembers(scopesOf("Messages"), ["message", "none"]);
    assert.deepEqual(scopesOf("Webhooks"), ["none"]);
    assert.deepEqual(scopesOf("Checkout"), ["buy"]);
  });

  for (const scope of SCOPES) {
    it(`open with ${scope} the routes of that scope and no other`, async () => {
      await grant([scope]);
      for (const route of KEYED) {
        const { method, path, name } = route;
        const answer = await api.request(method, path.replaceAll(/\{\w+\}/g, "unknown"), {
          key: agent.apiKey,
          ...(method === "GET" || method === "DELETE" ? {} : { body: {} }),
        });
        const accepted = openedBy(route.scope);
        if (accepted.includes(scope)) {
          assert.notStrictEqual(answer.body?.code, "scope_not_granted", name);
          assert.notStrictEqual(answer.status, 401, name);
        } else {
          assertError(answer, 403, "scope_not_granted");
          assert.deepEqual(answer.body.details, { accepted, granted: [scope] }, name);
        }
      }
    });
  }

  it("close every route to a key whose mandate has none", async () => {
    await grant([]);
    assertError(await api.request("GET", USAGE, { key: agent.apiKey }), 403, "scope_not_granted");
  });

  it("are those of each key, whichever path its admission takes", async () => {
    await grant(["read"]);
    const { access } = api.container.features.limits.models;
    const soon = new Date(Date.now() + 60_000);
    // A call that the quick admission doesn't decide: a reservation of a dead process has expired.
    const stale = { id: "killed", type: "api", day: new Date(0), until: new Date(0), prepaid: false };
    await access.collection.updateOne(
      { _id: agent.agentId as never },
      { $set: { "keys.0.expiresAt": soon, reservations: [stale] } as never },
    );
    const body = { key: "note", value: 1 };
    assertError(await api.request("POST", "/api/v1/memory", { key: agent.apiKey, body }), 403, "scope_not_granted");
    assert.strictEqual((await api.request("GET", USAGE, { key: agent.apiKey })).status, 200);
  });
});
