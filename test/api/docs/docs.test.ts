import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";

describe("the description of the API", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it("describes every route in openapi.json with its security", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    for (const { method, path, auth } of routes) {
      const operation = body.paths[path]?.[method.toLowerCase()];
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

  it("names each operation once, after a thing and a verb", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    const ids = Object.values<Record<string, any>>(body.paths).flatMap((operations) =>
      Object.values(operations).map(({ operationId }) => operationId as string),
    );
    assert.includeMembers(ids, ["listings.create", "webhooks.redeliver", "webhooks.redeliverMissed"]);
    assert.strictEqual(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[a-z][A-Za-z]*\.[a-z][A-Za-z]*$/);
  });

  it("[D43] shows Idempotency-Key where it counts, and a body as optional where an empty one is valid", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    const shown = ({ parameters = [] }: { parameters?: { name: string }[] }) =>
      parameters.some(({ name }) => name === "Idempotency-Key");
    assert.isTrue(shown(body.paths["/api/v1/checkout"].post));
    assert.isFalse(shown(body.paths["/internal/webhooks/chain"].post));
    assert.isFalse(shown(body.paths["/api/v1/services"].get));
    for (const path of ["discover", "memory/search", "transactions/{id}/check", "analytics/fractal"]) {
      assert.isFalse(shown(body.paths[`/api/v1/${path}`].post), path);
    }
    assert.isTrue(body.paths["/api/v1/checkout"].post.requestBody.required);
    assert.isFalse(body.paths["/api/v1/webhooks/secret/activate"].post.requestBody.required ?? false);
  });

  it("[S8.2.17] [S8.2.18] [S8.2.19] names the headers of every answer, and both types of the page's files", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    for (const operations of Object.values<Record<string, any>>(body.paths)) {
      for (const { responses } of Object.values(operations)) {
        for (const { headers } of Object.values<any>(responses)) {
          assert.includeMembers(Object.keys(headers), [
            "X-RateLimit-Limit",
            "X-RateLimit-Remaining",
            "X-RateLimit-Reset",
          ]);
        }
      }
    }
    const { content } = body.paths["/docs/{file}"].get.responses["200"];
    assert.deepEqual(Object.keys(content), ["text/javascript", "text/css"]);
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
    assert.includeMembers([...names], ["/api/v1/checkout", "Error", "serviceId", "cursor"]);
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
