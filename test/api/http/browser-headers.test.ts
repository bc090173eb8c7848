import { assert } from "chai";

import { assertError, startTestApi } from "../../fixtures/api.ts";
import { DESCRIPTIONS, operationsOf } from "../../fixtures/description.ts";
import type { TestApi } from "../../fixtures/api.ts";

/** The part of the API's description that is read here. */
const CATEGORIES = "/api/v1/categories";
const APP = "https://app.example";
const STRANGER = "https://stranger.example";

describe("headers for browsers", () => {
  const apis: TestApi[] = [];
  const start = async (env: Parameters<typeof startTestApi>[0] & object) => {
    const api = await startTestApi(env);
    apis.push(api);
    return api;
  };
  after(() => Promise.all(apis.map((api) => api.close())));

  const preflight = (api: TestApi, origin: string) =>
    api.request("OPTIONS", "/api/v1/checkout", {
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-api-key,content-type,idempotency-key",
      },
    });

  describe("where some sites are allowed", () => {
    let api: TestApi;
    before(async () => {
      api = await start({ env: { corsOrigins: [APP] } });
    });

    it("a script of an allowed site may call, and read limits and payment headers", async () => {
      const answer = await api.request("GET", CATEGORIES, { headers: { origin: APP } });
      assert.strictEqual(answer.headers.get("access-control-allow-origin"), APP);
      const exposed = answer.headers.get("access-control-expose-headers") ?? "";
      for (const name of ["X-RateLimit-Remaining", "Retry-After", "PAYMENT-REQUIRED", "Idempotency-Replayed"]) {
        assert.include(exposed, name);
      }
      assert.include(answer.headers.get("vary") ?? "", "Origin");
    });

    it("a preflight of an allowed site is answered without a key", async () => {
      const answer = await preflight(api, APP);
      assert.strictEqual(answer.status, 204, answer.text);
      assert.strictEqual(answer.headers.get("access-control-allow-origin"), APP);
      assert.match(answer.headers.get("access-control-allow-headers") ?? "", /X-API-Key.*Idempotency-Key.*X-PAYMENT/);
      assert.include(answer.headers.get("access-control-allow-methods") ?? "", "PATCH");
    });

    it("a preflight allows every header that a route reads", async () => {
      const operations = DESCRIPTIONS.flatMap(operationsOf);
      const read = operations.flatMap(({ parameters }) => parameters.filter((one) => one.in === "header"));
      const allowed = (await preflight(api, APP)).headers.get("access-control-allow-headers")?.toLowerCase().split(",");
      assert.includeMembers(allowed ?? [], [...new Set(read.map(({ name }) => name.toLowerCase()))]);
      assert.includeMembers(allowed ?? [], ["idempotency-key", "if-match", "if-none-match", "content-encoding"]);
    });

    it("an error can be read by an allowed site too", async () => {
      const answer = await api.request("GET", "/api/v1/services", { headers: { origin: APP } });
      assertError(answer, 401, "invalid_api_key");
      assert.strictEqual(answer.headers.get("access-control-allow-origin"), APP);
    });

    it("any other site gets no permission", async () => {
      for (const origin of [STRANGER, "null", `${APP}.stranger.example`, "http://app.example"]) {
        const answer = await api.request("GET", CATEGORIES, { headers: { origin } });
        assert.strictEqual(answer.headers.get("access-control-allow-origin"), null, origin);
      }
      assertError(await preflight(api, STRANGER), 405, "method_not_allowed");
    });

    it("credentials are never allowed, as keys aren't cookies", async () => {
      const answer = await preflight(api, APP);
      assert.strictEqual(answer.headers.get("access-control-allow-credentials"), null);
    });
  });

  it("every site is allowed with *, and none by default", async () => {
    const [open, closed] = [await start({ env: { corsOrigins: ["*"] } }), await start({})];
    const ask = (api: TestApi) => api.request("GET", CATEGORIES, { headers: { origin: STRANGER } });
    assert.strictEqual((await ask(open)).headers.get("access-control-allow-origin"), "*");
    assert.strictEqual((await ask(closed)).headers.get("access-control-allow-origin"), null);
  });

  it("answers, errors and unknown paths are data: no page, no frame, no guessing of types", async () => {
    const api = await start({});
    for (const path of [CATEGORIES, "/api/v1/services", "/nowhere"]) {
      const { headers } = await api.request("GET", path);
      assert.deepEqual(
        ["x-content-type-options", "x-frame-options", "referrer-policy", "cross-origin-resource-policy"].map((name) =>
          headers.get(name),
        ),
        ["nosniff", "DENY", "no-referrer", "same-origin"],
        path,
      );
      assert.strictEqual(headers.get("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
      // The tests' public address is https.
      assert.match(headers.get("strict-transport-security") ?? "", /^max-age=31536000/);
    }
    const plain = await start({ env: { publicUrl: "http://127.0.0.1" } });
    assert.strictEqual((await plain.request("GET", CATEGORIES)).headers.get("strict-transport-security"), null);
  });
});
