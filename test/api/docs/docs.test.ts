import { assert } from "chai";

import { encode } from "gpt-tokenizer/encoding/o200k_base";

import { apiDescription, routes } from "../../../api/app.ts";
import { describedErrors } from "../../../api/http/error-responses.ts";
import { isForAgents, isForOperators } from "../../../api/http/openapi.ts";
import { PAYMENT_CODES } from "../../../api/http/payment-required.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { DESCRIPTIONS, LONG_NAMES, operationsOf, resolve } from "../../fixtures/description.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import type { JsonSchema } from "../../fixtures/description.ts";

/**
 * The bounds of the description, as JSON without white space; an agent reads it as a whole. 75 paths take 250,000 bytes. The rest is
 * room for keys with mandates, approvals, what anyone may read of the market, and what else has no path yet.
 */
const [MAX_BYTES, MAX_TOKENS] = [312_000, 87_000];

describe("the description of the API", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ env: { adminApiKey: ADMIN_KEY } });
  });
  after(() => api.close());

  it("describes every route once with its security, those for operators apart", async () => {
    const operators = await api.request("GET", "/openapi-admin.json", AS_ADMIN);
    const documents = [(await api.request("GET", "/openapi.json")).body, operators.body];
    const found = documents.map(
      (document) => new Map(operationsOf(document).map((one) => [`${one.method} ${one.path}`, one])),
    );
    const described = routes.filter((route) => isForAgents(route) || isForOperators(route));
    assert.strictEqual((found[0]?.size ?? 0) + (found[1]?.size ?? 0), described.length);
    const others = routes.filter((route) => !described.includes(route)).map(({ path }) => path);
    assert.deepEqual(others, [
      ...["/api/v1/sessions", "/api/v1/sessions/current", "/api/v1/sessions/current", "/api/v1/sessions/current/keys"],
      "/api/v1/sessions/current/webhook-secret",
      ...["/discovery/resources", "/.well-known/x402.json"],
      ...["/api/v1/faucet", "/api/v1/sandbox/advance"],
      ...["/api/v1/stack/wallets", "/api/v1/stack/wallets/listed", "/api/v1/stack/wallets/{address}"],
      ...["/guides", "/guides/{page}.md", "/guides/{page}", "/llms.txt", "/downloads", "/downloads/{file}"],
      ...["/robots.txt", "/.well-known/api-catalog", "/feed.atom", "/sitemap.xml", "/sitemap-{name}.xml"],
      ...["/agents/{id}/registration.json", "/.well-known/agent-registration.json"],
      ...[
        "/",
        "/search",
        "/status",
        "/listings/{serviceId}",
        "/agents/{wallet}",
        "/deals/{escrowId}",
        "/disputes",
        "/me",
        "/me/deals",
        "/me/deals/{transactionId}",
        "/me/keys",
        "/me/webhooks",
        "/me/listings",
        "/me/listings/{serviceId}",
        "/me/hire",
        "/operator",
        "/assets/{file}",
      ],
    ]);
    assert.includeMembers(
      [...(found[1]?.keys() ?? [])],
      ["GET /ready", "GET /openapi-admin.json", "POST /internal/webhooks/chain"],
    );
    for (const route of described) {
      const { method, path, auth } = route;
      const operation = found[isForOperators(route) ? 1 : 0]?.get(`${method} ${path}`);
      assert.ok(operation, `${method} ${path}`);
      const keys = [{ apiKey: [] }, { bearer: [] }];
      const security = {
        none: [],
        apiKey: keys,
        bearerKey: [{ bearer: [] }],
        optionalApiKey: [...keys, {}],
        admin: [{ admin: [] }],
      };
      assert.deepEqual(operation.security, security[auth], path);
      assert.ok(operation.summary !== "" && Object.keys(operation.responses).length > 1, path);
    }
  });

  it("[D8] keeps the operators' description for the holder of their key, and from a service without one", async () => {
    assertError(await api.request("GET", "/openapi-admin.json"), 401, "invalid_api_key");
    const without = await startTestApi();
    const answer = await fetch(`${without.url}/openapi-admin.json`, AS_ADMIN);
    assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [404, "not_found"]);
    await without.close();
    const { text } = await api.request("GET", "/openapi.json");
    assert.notMatch(text, /"\/(internal|ready|api\/v1\/admin)|ADMIN_API_KEY/);
  });

  it("names each operation once, after a thing and a verb", () => {
    const ids = DESCRIPTIONS.flatMap(operationsOf).map(({ operationId }) => operationId);
    assert.includeMembers(ids, ["listings.create", "webhooks.redeliver", "webhooks.redeliverMissed"]);
    assert.strictEqual(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[a-z][A-Za-z]*\.[a-z][A-Za-z]*$/);
  });

  it("names what each status of an operation may say by codes, with the details of each code", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    const codesIn = (schema: JsonSchema): string[] => {
      const { anyOf, properties } = resolve(body, schema) as JsonSchema;
      if (anyOf !== undefined) return anyOf.flatMap(codesIn);
      const code = properties?.["code"] as { const?: string; enum?: string[] } | undefined;
      return code === undefined ? ["inactive_api_key"] : (code.enum ?? [code.const ?? ""]);
    };
    for (const operation of operationsOf(body)) {
      const route = routes.find(({ name }) => name === operation.operationId);
      assert.ok(route);
      for (const [status, codes] of describedErrors(route)) {
        const said = codesIn(operation.responses[status]?.content?.["application/json"]?.schema ?? {});
        const asking = said.filter((code) => (PAYMENT_CODES as readonly string[]).includes(code));
        assert.sameMembers(said, [...new Set([...codes, ...asking])], `${route.name} ${status}`);
      }
    }
    const { NotFoundError, ValidationError, SelfPurchaseError } = body.components.schemas;
    assert.strictEqual(NotFoundError.properties.details.type, "object");
    assert.strictEqual(ValidationError.properties.details.items.$ref, "#/components/schemas/ValidationIssue");
    assert.notProperty(SelfPurchaseError.properties, "details");
  });

  it("names its schemas after things, one a thing, and no body or answer after a path", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    const names = Object.keys(body.components.schemas);
    assert.includeMembers(names, ["Transaction", "CheckoutRequest", "Service", "Agent", "Dispute", "TransactionPage"]);
    for (const name of names) assert.notMatch(name, /^(Get|Post|Patch|Put|Delete)[A-Z]|V1|Output$|__/);
    const unnamed = operationsOf(body).filter(({ requestBody, responses }) => {
      const schemas = [requestBody, ...Object.values(responses)].map(
        (one) => one?.content?.["application/json"]?.schema,
      );
      return schemas.some((schema) => schema?.properties !== undefined);
    });
    assert.deepEqual(
      unnamed.map(({ operationId }) => operationId),
      [],
    );
  });

  it("closes no schema that it only refers to: nothing would pass", () => {
    for (const description of DESCRIPTIONS) {
      JSON.stringify(description, (_key, value: { $ref?: string; additionalProperties?: unknown } | null) => {
        if (value?.$ref !== undefined) assert.notProperty(value, "additionalProperties", value.$ref);
        return value;
      });
    }
  });

  it("gives every record an `id`, and each time in unix seconds a twin", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    const schemas = body.components.schemas as Record<string, JsonSchema>;
    const ofRecords = [
      "Agent",
      "Transaction",
      "Job",
      "Dispute",
      "Webhook",
      "WebhookDelivery",
      "RebateStatement",
      "Pack",
    ];
    const named = ["Service", "DiscoverResult", "Message", "UcpMessage", "EventRecord"];
    for (const name of [...ofRecords, ...named]) assert.include(schemas[name]?.required ?? [], "id", name);
    for (const [name, { properties = {}, required = [], type }] of Object.entries(schemas)) {
      // Only requests say that they are objects.
      if (type === undefined && "deadline" in properties) assert.include(required, "deadlineAt", name);
      if (ofRecords.includes(name)) assert.isTrue(LONG_NAMES.includes(Object.keys(properties)[1] ?? ""), name);
    }
  });

  it("says where it is served, and describes its tags", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    assert.deepEqual(body.servers, [{ url: api.container.env.publicUrl }]);
    for (const { name, description } of body.tags) assert.isAbove(description.length, 10, name);
  });

  it("sends the description compressed, and not at all to a client that has it", async () => {
    const plain = await api.request("GET", "/openapi.json", { headers: { "accept-encoding": "identity" } });
    assert.isNull(plain.headers.get("content-encoding"));
    const etag = plain.headers.get("etag") ?? "";
    for (const encoding of ["br", "gzip"]) {
      const { headers, text } = await api.request("GET", "/openapi.json", { headers: { "accept-encoding": encoding } });
      assert.deepEqual([headers.get("content-encoding"), headers.get("etag")], [encoding, etag]);
      assert.strictEqual(text, plain.text);
      assert.isBelow(Number(headers.get("content-length")), plain.text.length / 5);
    }
    const known = await fetch(`${api.url}/openapi.json`, { headers: { "if-none-match": etag } });
    assert.deepEqual([known.status, await known.text()], [304, ""]);
    const other = await fetch(`${api.url}/openapi.json`, { headers: { "if-none-match": '"other"' } });
    assert.strictEqual((await other.text()).length, plain.text.length);
    assert.strictEqual(other.status, 200);
  });

  it("[D43] shows Idempotency-Key where it counts, and a body as optional where an empty one is valid", () => {
    const found = new Map(DESCRIPTIONS.flatMap(operationsOf).map((one) => [`${one.method} ${one.path}`, one]));
    const shown = (route: string) => found.get(route)?.parameters.some(({ name }) => name === "Idempotency-Key");
    assert.isTrue(shown("POST /api/v1/checkout"));
    assert.isFalse(shown("POST /internal/webhooks/chain"));
    assert.isFalse(shown("GET /api/v1/services"));
    for (const path of [
      "discover",
      "memory/search",
      "services/{id}/visibility",
      "transactions/{id}/check",
      "analytics/fractal",
    ]) {
      assert.isFalse(shown(`POST /api/v1/${path}`), path);
    }
    assert.isTrue(found.get("POST /api/v1/checkout")?.requestBody?.required);
    assert.isFalse(found.get("POST /api/v1/webhooks/secret/activate")?.requestBody?.required ?? false);
  });

  it("[S8.2.17] [S8.2.18] [S8.2.19] explains the headers of every answer once, and names those of some", () => {
    const names = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"];
    for (const description of DESCRIPTIONS) {
      for (const name of names) assert.include(description.info.description, `\`${name}\``);
    }
    for (const { path, responses } of DESCRIPTIONS.flatMap(operationsOf)) {
      for (const [status, { headers = {} }] of Object.entries(responses)) {
        assert.notIncludeMembers(Object.keys(headers), names);
        if (status === "429") assert.property(headers, "Retry-After", path);
      }
    }
  });

  it("names both types of the page's files", () => {
    const operations = DESCRIPTIONS.flatMap(operationsOf);
    const { content } = operations.find(({ path }) => path === "/docs/{file}")?.responses["200"] ?? { content: {} };
    assert.deepEqual(Object.keys(content ?? {}), ["text/javascript", "text/css"]);
  });

  it(`takes at most ${MAX_BYTES} bytes and ${MAX_TOKENS} tokens`, () => {
    const text = JSON.stringify(apiDescription());
    const [bytes, tokens] = [Buffer.byteLength(text), encode(text).length];
    console.log(`      /openapi.json: ${bytes} of ${MAX_BYTES} bytes, ${tokens} of ${MAX_TOKENS} tokens (o200k_base)`);
    assert.isAtMost(bytes, MAX_BYTES);
    assert.isAtMost(tokens, MAX_TOKENS);
  });

  it("[S9.05] has no route, field or schema for a bond or a stake", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    const names = new Set<string>();
    JSON.stringify(body, (key, value: unknown) => {
      names.add(key);
      if (key === "name" && typeof value === "string") names.add(value);
      return value;
    });
    // Paths, schemas, fields and parameters are all there.
    assert.includeMembers([...names], ["/api/v1/checkout", "NotFoundError", "serviceId", "cursor"]);
    assert.isEmpty([...names].filter((name) => /bond|stak/i.test(name)));
  });

  it("serves the browsable description only from this server", async () => {
    const page = await api.request("GET", "/docs");
    assert.strictEqual(page.status, 200);
    assert.ok(!/https?:\/\//.test(page.text), "the page loads something from elsewhere");
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'.*script-src 'self'/);
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file ?? "");
    assert.strictEqual(files.length, 3);
    for (const file of files) assert.strictEqual((await api.request("GET", file)).status, 200, file);
  });
});
