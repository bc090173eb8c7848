// Errors as problem details (RFC 9457), for clients that prefer them strictly.
import { assert } from "chai";

import { prefersProblem, PROBLEM_TYPE, toProblem } from "../../../api/http/problem.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";

const PREFERRING = { accept: PROBLEM_TYPE };

describe("problem details", () => {
  it("are preferred only by an Accept that ranks them above application/json", () => {
    for (const accept of [
      "application/problem+json",
      "Application/Problem+JSON",
      "application/problem+json, application/json;q=0.9",
      "application/json; q=0.1, application/problem+json;q=0.2",
      "application/problem+json, */*;q=0.5",
      "application/problem+json, application/*;q=0.5, */*",
      "text/html, application/problem+json;q=0.001",
    ]) {
      assert.isTrue(prefersProblem(accept), accept);
    }
    for (const accept of [
      ...["", "*/*", "application/*", "application/json", "text/html,application/xhtml+xml,*/*;q=0.8"],
      ...["application/problem+json, application/json", "application/problem+json, */*"],
      "application/problem+json;q=0.5, application/json",
      "application/problem+json;q=0",
      "application/problem+json;q=0.5, application/*",
      "application/problem+json;q=0.5, application/json; charset=utf-8",
      "application/problem+jsonp, application/json;q=0.1",
    ]) {
      assert.isFalse(prefersProblem(accept), accept);
    }
  });

  it("name the first issues of a request, and say how many others there are", () => {
    const details = Array.from({ length: 7 }, (_, at) => ({ path: `body.f${at}`, message: "is too long" }));
    const problem = toProblem({ success: false, details }, "validation_error", PUBLIC_URL);
    const named = details.slice(0, 5).map(({ path }) => `${path}: is too long`);
    assert.deepInclude(problem, { detail: `${named.join("; ")}; and 2 more`, details });
  });

  describe("of the service", () => {
    let api: TestApi;
    let key: string;
    before(async () => {
      api = await startTestApi();
      key = (await api.registerAgent()).apiKey;
    });
    after(() => api.close());

    const CASES: [name: string, method: string, path: string, options: () => object, detail: RegExp][] = [
      ["an unknown path", "GET", "/nothing", () => ({}), /^Not found$/],
      ["a missing key", "GET", "/api/v1/services", () => ({}), /\/api\/v1\/auth\/register/],
      ["a wrong request", "POST", "/api/v1/discover", () => ({ body: { query: "" } }), /^body\.query: /],
      ["a key of ucp messages", "GET", "/api/v1/ucp/messages", () => ({}), /^Invalid or inactive API key$/],
      ["a payment", "POST", "/api/v1/x402/packs/search-1000", () => ({ key, body: {} }), /./],
    ];
    for (const [name, method, path, options, detail] of CASES) {
      it(`keep every member of the body about ${name}, with its status and a type that leads to its code`, async () => {
        const plain = await api.request(method, path, options());
        const problem: Answer = await api.request(method, path, { ...options(), headers: PREFERRING });
        assert.strictEqual(problem.headers.get("content-type"), PROBLEM_TYPE);
        assert.match(plain.headers.get("content-type") ?? "", /^application\/json\b/);
        const { type, title, status, detail: said, ...own } = JSON.parse(problem.text) as Record<string, unknown>;
        assert.deepEqual(own, plain.body);
        assert.deepEqual([problem.status, status], [plain.status, plain.status]);
        assert.ok(title);
        assert.match(String(said), detail);
        const [page = "", code = ""] = String(type).slice(PUBLIC_URL.length).split("#");
        assert.include((await api.request("GET", page)).text, `id="${code}"`);
      });
    }

    it("are for errors alone", async () => {
      const { status, headers } = await api.request("GET", "/api/v1/categories", { headers: PREFERRING });
      assert.strictEqual(status, 200);
      assert.match(headers.get("content-type") ?? "", /^application\/json\b/);
    });
  });
});
