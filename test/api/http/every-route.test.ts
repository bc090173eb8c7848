// Every route, called with every kind of key (section 5).
import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";

type Route = (typeof routes)[number];

/** Routes that answer anyone, with or without a key. */
const KEYLESS = routes.filter(({ auth }) => auth === "none");
const KEYED = routes.filter(({ auth }) => auth === "apiKey");
const HOUR_MS = 3_600_000;

describe("every route", () => {
  let api: TestApi;
  let owner: TestAgent;
  let foreign: TestAgent;
  let suspended: TestAgent;
  let expired: string;
  let revoked: string;
  let serviceId: string;

  before(async () => {
    // Without it some pages don't exist.
    api = await startTestApi({ env: { adminApiKey: ADMIN_KEY } });
    [owner, foreign, suspended] = [await api.registerAgent(), await api.registerAgent(), await api.registerAgent()];
    const { access } = api.container.features.limits.models;
    const soon = new Date(Date.now() + HOUR_MS);
    await access.collection.updateOne({ _id: suspended.agentId as never }, { $set: { "keys.0.suspendedUntil": soon } });
    const listed = await api.request("POST", "/api/v1/services", { key: owner.apiKey, body: listingBody() });
    serviceId = listed.body.data.id;

    const leaver = await api.registerAgent();
    revoked = leaver.apiKey;
    assert.strictEqual((await api.request("DELETE", "/api/v1/auth/keys", { key: revoked })).status, 200);
    const renewer = await api.registerAgent();
    expired = renewer.apiKey;
    const body = { ...(await keyRequestBody(renewer.account)), revokeOthersAfterSeconds: 3_600 };
    assert.strictEqual((await api.request("POST", "/api/v1/auth/keys", { body })).status, 201);
    await access.collection.updateOne(
      { _id: renewer.agentId as never },
      { $set: { "keys.0.expiresAt": new Date(Date.now() - HOUR_MS) } },
    );
  });
  after(() => api.close());

  /** Calls a route with its path filled in and an empty body. */
  function call({ method, path }: Route, key: string | undefined, id = "unknown"): Promise<Answer> {
    const filled = path.replaceAll(/\{\w+\}/g, id);
    return api.request(method, filled, {
      ...(method === "GET" || method === "DELETE" ? {} : { body: {} }),
      ...(key === undefined ? {} : { key }),
    });
  }

  const bad: [kind: string, key: () => string | undefined][] = [
    ["no key", () => undefined],
    ["an unknown key", () => `svc_${"0".repeat(64)}`],
    ["a malformed key", () => "svc_nonsense"],
    ["a key with white space in it", () => `${owner.apiKey.slice(0, 40)} ${owner.apiKey.slice(40)}`],
    ["a revoked key", () => revoked],
    ["an expired key", () => expired],
    ["a suspended key", () => suspended.apiKey],
  ];

  for (const [kind, key] of bad) {
    it(`[S5.05] [S5.06] [S7.01] that needs a key answers ${kind} with 401 Invalid API key`, async () => {
      assert.ok(KEYED.length > 20, `${KEYED.length} routes need a key`);
      for (const route of KEYED) {
        const answer = await call(route, key());
        assertError(answer, 401, "invalid_api_key");
        assert.strictEqual(answer.body.error, "Invalid API key", route.path);
        assert.match(answer.body.details.hint, /\/api\/v1\/auth\/register.*\/api\/v1\/auth\/keys/, route.path);
        assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer realm="[^"]+"$/, route.path);
      }
    });

    it(`that needs no key ignores ${kind}`, async () => {
      for (const route of KEYLESS) {
        const answer = await call(route, key());
        const withKey = await call(route, owner.apiKey);
        assert.notStrictEqual(answer.body?.code, "invalid_api_key", route.path);
        assert.strictEqual(answer.status, withKey.status, route.path);
      }
    });
  }

  it("that takes only a bearer key answers a wrong one with the body of the specification, and how to send a key", async () => {
    const bearer = routes.filter(({ auth }) => auth === "bearerKey");
    assert.isAtLeast(bearer.length, 2);
    for (const route of bearer) {
      const answer = await call(route, revoked);
      assert.strictEqual(answer.status, 401, route.path);
      assert.strictEqual(answer.text, '{"error":"Invalid or inactive API key"}');
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer /, route.path);
    }
  });

  it("[S5.02] that needs a key accepts the right one", async () => {
    for (const route of KEYED) {
      const isRevocation = route.path === "/api/v1/auth/keys";
      const key = isRevocation ? (await api.registerAgent()).apiKey : owner.apiKey;
      const answer = await call(route, key);
      assert.notStrictEqual(answer.status, 401, `${route.method} ${route.path}`);
      assert.isBelow(answer.status, 500, `${route.method} ${route.path}: ${answer.text}`);
    }
  });

  it("[S5.03] that needs a key accepts it as a bearer token, and a wrong key is refused where one is optional", async () => {
    for (const route of KEYED.filter(({ method }) => method === "GET")) {
      const path = route.path.replaceAll(/\{\w+\}/g, "unknown");
      const headers = { authorization: `Bearer ${owner.apiKey}` };
      assert.notStrictEqual((await api.request("GET", path, { headers })).status, 401, route.path);
    }
    for (const route of routes.filter(({ auth }) => auth === "optionalApiKey")) {
      assertError(await call(route, revoked), 401, "invalid_api_key");
      assert.notStrictEqual((await call(route, undefined)).status, 401);
    }
  });

  it("that changes a record refuses a foreign key, and the record stays as it is", async () => {
    const before = await api.request("GET", `/api/v1/services/${serviceId}`, { key: owner.apiKey });
    const changing = KEYED.filter(({ readsOnly, path }) => !readsOnly && path.startsWith("/api/v1/services/"));
    assert.ok(changing.length >= 2);
    for (const { method, path } of changing) {
      const options = { key: foreign.apiKey, ...(method === "DELETE" ? {} : { body: { price: 1 } }) };
      assertError(await api.request(method, path.replace("{id}", serviceId), options), 403, "wrong_role");
    }
    const after = await api.request("GET", `/api/v1/services/${serviceId}`, { key: owner.apiKey });
    assert.deepEqual(after.body, before.body);
  });
});
