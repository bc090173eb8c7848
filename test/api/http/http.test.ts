import { connect } from "node:net";
import { gzipSync } from "node:zlib";

import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { MAX_BODY_DEPTH } from "../../../api/http/validation.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";

const SERVICES = "/api/v1/services";
const DISCOVER = "/api/v1/discover";
const KIBIBYTE = 1024;

/** Section 5.4 of the specification, and what the decisions add: sign-in (D21), networks (D40), packs (D46), operations and docs. */
const KEYLESS = [
  ...[
    "GET /api/v1/categories",
    "POST /api/v1/discover",
    "GET /api/v1/agents/score",
    "GET /api/v1/agents/{id}/public-key",
  ],
  ...[
    "POST /api/v1/auth/register",
    "POST /api/v1/auth/keys",
    "POST /api/v1/sessions",
    "POST /api/v1/sessions/current/keys",
    "POST /api/v1/sessions/current/webhook-secret",
    "POST /api/developer/access",
    "GET /api/v1/networks",
    "POST /api/v1/faucet",
    "POST /api/v1/sandbox/advance",
    "POST /api/v1/stack/wallets",
    "POST /api/v1/stack/wallets/listed",
    "GET /api/v1/stack/wallets/{address}",
    "GET /api/v1/x402/packs",
  ],
  ...["GET /api/v1/market/figures", "GET /api/v1/market/listings", "GET /api/v1/market/listings/{serviceId}"],
  ...["GET /api/v1/market/deals/{escrowId}", "GET /api/v1/market/status"],
  ...["GET /api/v1/market/agents/{wallet}", "GET /api/v1/market/disputes"],
  ...["GET /health", "GET /ready", "GET /openapi.json", "GET /docs", "GET /docs/{file}"],
  ...["GET /guides", "GET /guides/{page}", "GET /downloads", "GET /downloads/{file}"],
  ...["GET /guides/{page}.md", "GET /llms.txt", "GET /robots.txt", "GET /.well-known/api-catalog"],
  ...["GET /feed.atom", "GET /sitemap.xml", "GET /sitemap-{name}.xml"],
  ...["GET /discovery/resources", "GET /.well-known/x402.json"],
  ...["GET /agents/{id}/registration.json", "GET /.well-known/agent-registration.json"],
  ...[
    "GET /",
    "GET /me",
    "GET /me/deals",
    "GET /me/deals/{transactionId}",
    "GET /me/hire",
    "GET /me/keys",
    "GET /me/webhooks",
    "GET /me/listings",
    "GET /me/listings/{serviceId}",
    "GET /operator",
    "GET /search",
    "GET /status",
    "GET /listings/{serviceId}",
    "GET /deals/{escrowId}",
    "GET /assets/{file}",
  ],
  ...["GET /agents/{wallet}", "GET /disputes"],
];

describe("the HTTP layer", () => {
  let api: TestApi;
  let key: string;

  before(async () => {
    api = await startTestApi({ search: true, env: { adminApiKey: ADMIN_KEY } });
    key = (await api.registerAgent()).apiKey;
  });
  after(() => api.close());

  describe("happy", () => {
    it("[S4.101] answers JSON as application/json, and accepts JSON only with that type", async () => {
      for (const path of ["/api/v1/categories", "/health", "/openapi.json", "/nothing"]) {
        const answer = await api.request("GET", path);
        assert.match(answer.headers.get("content-type") ?? "", /^application\/json\b/);
      }
      const sent = (type: string) =>
        api.request("POST", DISCOVER, { rawBody: '{"query":"x"}', headers: { "content-type": type } });
      const taken = await sent("application/json");
      assert.strictEqual(taken.status, 200);
      assert.match(taken.headers.get("content-type") ?? "", /^application\/json\b/);
      const refused = await sent("text/plain");
      assertError(refused, 415, "unsupported_media_type");
      assert.match(refused.headers.get("content-type") ?? "", /^application\/json\b/);
    });

    it("[S9.01] [D33] every route under /api/v1 is also served under /v1, and under no other prefix", async () => {
      for (const { method, path, auth } of routes.filter((route) => route.path.startsWith("/api/v1/"))) {
        const filled = path.replaceAll(/\{\w+\}/g, "unknown");
        const body = method === "GET" || method === "DELETE" ? {} : { body: {} };
        const [long, short] = [
          await api.request(method, filled, body),
          await api.request(method, filled.replace("/api", ""), body),
        ];
        assert.notStrictEqual(long.body?.code, "method_not_allowed", path);
        assert.deepEqual([short.status, short.body?.code], [long.status, long.body?.code], path);
        if (auth === "apiKey") assert.strictEqual(short.status, 401, path);
        assertError(await api.request(method, filled.replace("/api/v1", "/api/v2"), body), 404, "not_found");
      }
    });

    it("gives every answer a request id: the client's own if it is well-formed", async () => {
      const own = await api.request("GET", "/health", { headers: { "x-request-id": "trace-1" } });
      assert.strictEqual(own.headers.get("x-request-id"), "trace-1");
      for (const bad of ["x".repeat(65), "a b", "<script>"]) {
        const answer = await api.request("GET", "/health", { headers: { "x-request-id": bad } });
        assert.match(answer.headers.get("x-request-id") ?? "", /^req_[0-9a-f]{32}$/);
      }
    });

    it("accepts a UTF-8 JSON body with any spelling of its charset, and compressed", async () => {
      for (const type of ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON; charset=UTF-8"]) {
        const headers = { "content-type": type };
        const answer = await api.request("POST", DISCOVER, { rawBody: '{"query":"köche"}', headers });
        assert.strictEqual(answer.status, 200, type);
      }
      const rawBody = gzipSync(JSON.stringify({ query: "compressed" }));
      const answer = await api.request("POST", DISCOVER, { rawBody, headers: { "content-encoding": "gzip" } });
      assert.strictEqual(answer.status, 200);
    });
  });

  describe("error", () => {
    it("[D33] an unknown route is a 404 not_found, even outside the API", async () => {
      for (const path of [
        "/nothing",
        "/api",
        "/api/v1",
        "/api/v1/nothing",
        "/v1/services/x/y",
        "/API/v1/categories",
        "/%E0%A4",
      ]) {
        assertError(await api.request("GET", path), 404, "not_found");
      }
    });

    it("[D33] a wrong method is a 405 that lists the right ones", async () => {
      const methodsOf = async (path: string) => {
        const answer = await api.request("PUT", path, { key, body: {} });
        assertError(answer, 405, "method_not_allowed");
        const allowed = (answer.headers.get("allow") ?? "").split(", ");
        return allowed.filter((method) => method !== "HEAD").sort();
      };
      assert.deepEqual(await methodsOf(SERVICES), ["GET", "POST"]);
      // `/messages/{id}` has GET and PATCH.
      assert.deepEqual(await methodsOf("/api/v1/messages/subscribe"), ["DELETE", "POST"]);
    });

    it("[D33] bad JSON is a 400 malformed_json", async () => {
      for (const rawBody of ["{", '{"a":}', "nonsense", '"text"', "1", "{} {}", '{"query":"x"', "\u0000"]) {
        assertError(await api.request("POST", DISCOVER, { rawBody }), 400, "malformed_json");
      }
    });

    it("a body that isn't an object is a validation error, and so is an empty one", async () => {
      assertInvalid(await api.request("POST", DISCOVER, { rawBody: "[]" }), "body");
      assertInvalid(await api.request("POST", DISCOVER, { rawBody: "" }), "body.query");
      assertInvalid(await api.request("POST", DISCOVER), "body.query");
    });

    it("another content type is a 415 unsupported_media_type", async () => {
      const types = ["text/plain", "application/x-www-form-urlencoded", "application/xml", "application/jsonp", "x"];
      for (const type of types) {
        const answer = await api.request("POST", DISCOVER, {
          rawBody: '{"query":"x"}',
          headers: { "content-type": type },
        });
        assertError(answer, 415, "unsupported_media_type");
      }
      const utf16 = { "content-type": "application/json; charset=utf-16" };
      const rawBody = Buffer.from('{"query":"x"}', "utf16le");
      const answer = await api.request("POST", DISCOVER, { rawBody, headers: utf16 });
      assert.ok([400, 415].includes(answer.status), answer.text);
    });

    it("[D33] a body over 256 KB is a 413, compressed or not, and one of 256 KB is read", async () => {
      const padded = (bytes: number) => `{"query":"x","pad":"${"a".repeat(bytes - 22)}"}`;
      assertInvalid(await api.request("POST", DISCOVER, { rawBody: padded(256 * KIBIBYTE) }), "body.pad");
      const tooLarge = padded(256 * KIBIBYTE + 1);
      assertError(await api.request("POST", DISCOVER, { rawBody: tooLarge }), 413, "payload_too_large");
      const rawBody = gzipSync(padded(10 * KIBIBYTE * KIBIBYTE));
      const bomb = await api.request("POST", DISCOVER, { rawBody, headers: { "content-encoding": "gzip" } });
      assertError(bomb, 413, "payload_too_large");
    });

    it("a body nested too deeply is a validation error", async () => {
      const nested = (depth: number) => `{"query":${"[".repeat(depth)}${"]".repeat(depth)}}`;
      for (const depth of [MAX_BODY_DEPTH, 1_000, 100_000]) {
        assertInvalid(await api.request("POST", DISCOVER, { rawBody: nested(depth) }), "body");
      }
    });

    it("a text that isn't Unicode is a validation error", async () => {
      assertInvalid(await api.request("POST", DISCOVER, { rawBody: '{"query":"\\ud800"}' }), "body.query");
      const rawBody = JSON.stringify(listingBody()).replace("Invoice", "\\udc00");
      assertInvalid(await api.request("POST", SERVICES, { key, rawBody }), "body.title");
    });

    it("every issue is reported, in any part of the request", async () => {
      const answer = await api.request("POST", SERVICES, { key, body: { title: 1, price: -1, extra: 1, other: 2 } });
      assertInvalid(
        answer,
        ...[
          "body.title",
          "body.description",
          "body.category",
          "body.price",
          "body.priceUnit",
          "body.extra",
          "body.other",
        ],
      );
    });
  });

  describe("security", () => {
    it("[S7.01] [S5.08] without a key every route that is not keyless answers 401 Invalid API key", async () => {
      // Webhooks that the service receives have no key: they are signed (test/api/chain-follower).
      for (const { method, path, auth } of routes.filter((route) => !route.path.startsWith("/internal/"))) {
        const answer = await api.request(method, path.replaceAll(/\{\w+\}/g, "unknown"), {
          ...(method === "GET" || method === "DELETE" ? {} : { body: {} }),
        });
        // It takes the session of a page (test/api/sessions).
        if (path === "/api/v1/sessions/current") {
          assertError(answer, 401, "session_ended");
          continue;
        }
        if (KEYLESS.includes(`${method} ${path}`)) {
          assert.notStrictEqual(answer.status, 401, `${method} ${path}`);
          continue;
        }
        if (auth === "bearerKey") {
          // Its text is another (test/api/messages/ucp.test.ts).
          assert.strictEqual(answer.status, 401, path);
          continue;
        }
        assertError(answer, 401, "invalid_api_key");
        assert.strictEqual(answer.body.error, "Invalid API key");
      }
    });

    it("the key is checked before the body: without one, nobody learns a schema or sends megabytes", async () => {
      assertError(await api.request("POST", SERVICES, { rawBody: "{" }), 401, "invalid_api_key");
      assertError(await api.request("PATCH", `${SERVICES}/x`, { body: { a: 1 } }), 401, "invalid_api_key");
    });

    it("database operators in fields, ids and keys find nothing", async () => {
      assertInvalid(
        await api.request("POST", SERVICES, { key, body: listingBody({ category: { $gt: "" } }) }),
        "body.category",
      );
      assertError(await api.request("GET", `${SERVICES}/{"$gt":""}`, { key }), 404, "not_found");
      assertError(await api.request("GET", `${SERVICES}/%7B%22$gt%22:%22%22%7D`, { key }), 404, "not_found");
      assertInvalid(await api.request("GET", `${SERVICES}?category[$ne]=x`, { key }), "query.category[$ne]");
      for (const stolen of ['{"$gt":""}', "[object Object]"]) {
        assertError(await api.request("GET", SERVICES, { key: stolen }), 401, "invalid_api_key");
      }
    });

    it("a body that sets the prototype is refused", async () => {
      for (const rawBody of ['{"query":"x","__proto__":{"a":1}}', '{"query":"x","constructor":{"prototype":{}}}']) {
        assert.strictEqual((await api.request("POST", DISCOVER, { rawBody })).status, 400);
      }
    });

    it("an error reveals no internals, and leaves the service alive", async () => {
      const answer = await api.request("POST", DISCOVER, { rawBody: '{"query":' });
      assert.ok(!/node_modules|\.ts|SyntaxError|at /.test(answer.text), answer.text);
      assert.strictEqual((await api.request("GET", "/health")).status, 200);
    });

    it("answers have no-store and nosniff, and don't name the server's software", async () => {
      const { headers } = await api.request("GET", "/api/v1/categories");
      assert.deepEqual(
        [
          headers.get("cache-control"),
          headers.get("x-content-type-options"),
          headers.get("x-powered-by"),
          headers.get("server"),
        ],
        ["no-store", "nosniff", null, null],
      );
    });

    it("[S5.11] request signatures are enforced nowhere: missing, wrong and stale ones get the same answers", async () => {
      const variants: Record<string, string>[] = [
        {},
        { signature: "sig1=:AAAA:", "signature-input": 'sig1=("@method");created=1' },
        { "x-signature": "wrong", "x-timestamp": "0" },
      ];
      for (const { method, path } of routes) {
        const body = method === "GET" || method === "DELETE" ? {} : { body: {} };
        // Revoking the key of this test would end it.
        if (`${method} ${path}` === "DELETE /api/v1/auth/keys") continue;
        const answers = [];
        for (const headers of variants) {
          const { status, body: answered } = await api.request(method, path.replaceAll(/\{\w+\}/g, "x"), {
            key,
            headers,
            ...body,
          });
          // Readiness reports the current state of the dependencies. Only the fact that it answers is stable.
          const answeredAs = path === "/ready" && status === 503 ? 200 : status;
          answers.push(`${answeredAs} ${answered?.code}`);
        }
        assert.strictEqual(new Set(answers).size, 1, `${method} ${path}: ${answers.join(", ")}`);
      }
    });

    it("requests that aren't HTTP are refused without harm", async () => {
      const { hostname, port } = new URL(api.ownUrl);
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => socket.write("NONSENSE\r\n\r\n"));
        let text = "";
        socket.on("data", (chunk) => (text += chunk.toString()));
        socket.on("close", () => {
          resolve(text);
        });
        socket.on("error", reject);
      });
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.strictEqual((await api.request("GET", "/health")).status, 200);
    });
  });
});
