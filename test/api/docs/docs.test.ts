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
      const security = { none: [], apiKey: keys, optionalApiKey: [...keys, {}], admin: [{ admin: [] }] };
      assert.deepEqual(operation.security, security[auth], path);
      assert.ok(operation.summary !== "" && Object.keys(operation.responses).length > 1, path);
    }
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
