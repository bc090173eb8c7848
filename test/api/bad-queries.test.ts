import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { pathsOf } from "../../api/http/define-route.ts";
import { assertError, assertInvalid, startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";

const UNKNOWN_TRANSACTION = `txn_${"0".repeat(32)}`;

describe("bad input in queries", () => {
  let api: TestApi;
  let caller: TestAgent;

  before(async () => {
    api = await startTestApi();
    caller = await api.registerAgent();
  });
  after(() => api.close());

  const queries: [path: string, query: string, place: string][] = [
    ["/api/v1/categories", "parent=defi", "query.parent"],
    ["/api/v1/networks", "network=base", "query.network"],
    ["/api/v1/agents/score", "", "query.address"],
    ["/api/v1/agents/score", "address=0x12", "query.address"],
    ["/api/v1/agents/score", "address=a&address=b", "query.address"],
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
    ["/api/v1/webhooks/deliveries", "status=lost", "query.status"],
    ["/api/v1/webhooks/deliveries", "agentId=agt_other", "query.agentId"],
  ];
  for (const [path, query, place] of queries) {
    it(`${path}?${query.slice(0, 40)} is a validation error`, async () => {
      assertInvalid(await api.request("GET", `${path}?${query}`, { key: caller.apiKey }), place);
    });
  }

  it("[D33] GET /docs/{file} is a 404 not_found for a file that the page does not load, also for one of the package", async () => {
    for (const file of ["index.html", "package.json", "START.JS", "..%2Fpackage.json", "%00", "constructor"]) {
      assertError(await api.request("GET", `/docs/${file}`), 404, "not_found");
    }
    assertInvalid(await api.request("GET", `/docs/${"x".repeat(101)}`), "params.file");
  });

  it("refuses a parameter that its route does not name, on every route of openapi.json, and does nothing", async () => {
    const { paths } = (await api.request("GET", "/openapi.json")).body as { paths: Record<string, object> };
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    );
    assert.ok(described.length > 30, "nothing is tried");
    for (const { method, path } of described) {
      for (const spelling of pathsOf(path)) {
        const filled = spelling.replaceAll("{file}", "start.js").replaceAll(/\{\w+\}/g, UNKNOWN_TRANSACTION);
        for (const query of ["noSuchParameter=1", "noSuchParameter", "noSuchParameter=1&noSuchParameter=2"]) {
          const body = method === "GET" ? {} : { body: {} };
          const answer = await api.request(method, `${filled}?${query}`, { key: caller.apiKey, ...body });
          assertInvalid(answer, "query.noSuchParameter");
        }
      }
    }
    // DELETE /auth/keys was among them.
    assert.equal((await api.request("GET", "/api/v1/services", { key: caller.apiKey })).status, 200);
  });
});
