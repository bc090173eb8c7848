import { assert } from "chai";

import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";

const PATH = "/api/v1/analytics/fractal";
const HOUR_MS = 3_600_000;

describe("GET and POST /api/v1/analytics/fractal", () => {
  let api: TestApi;
  let agent: TestAgent;
  before(async () => {
    api = await startTestApi();
    agent = await api.registerAgent();
  });
  after(() => api.close());

  const read = async (query = "") => {
    const { status, body, text } = await api.request("GET", `${PATH}${query}`, { key: agent.apiKey });
    assert.strictEqual(status, 200, text);
    return body.data;
  };

  it("[S4.r33] [D30] answers an hourly series of the subgraph for each metric and scope", async () => {
    for (const metric of ["volume", "escrows", "score"]) {
      for (const scope of ["me", "all"]) {
        for (const network of ["base-sepolia", "base"]) {
          const data = await read(`?metric=${metric}&scope=${scope}&network=${network}&length=48`);
          assert.deepEqual([data.metric, data.scope, data.network, data.length], [metric, scope, network, 48]);
          assert.strictEqual(data.series.length, 48);
          assert.strictEqual(Date.parse(data.end) - Date.parse(data.start), 48 * HOUR_MS);
          assert.strictEqual(Date.parse(data.end) % HOUR_MS, 0);
        }
      }
    }
  });

  it("[D30] a new agent's series is constant, and a short one has no exponents", async () => {
    const none = { hurst: null, fractalDimension: null };
    assert.deepInclude(await read("?scope=me&length=16"), { ...none, reason: "constant", length: 16 });
    assert.deepInclude(await read("?scope=me&length=15"), { ...none, reason: "too_short", length: 15 });
  });

  it("[S4.r33.3] [D30] a length above 500 is cut to 500", async () => {
    for (const length of ["501", "1000", "1000000000"]) {
      const data = await read(`?length=${length}`);
      assert.deepEqual([data.length, data.series.length], [500, 500]);
    }
    assert.strictEqual((await read("?length=500")).length, 500);
    assert.strictEqual((await read()).length, 500);
  });

  it("[S4.r33.1] [D30] POST answers the exponents of the given series", async () => {
    const series = Array.from({ length: 16 }, (_, index) => (index * 7) % 5);
    const { status, body } = await api.request("POST", PATH, { key: agent.apiKey, body: { series } });
    assert.strictEqual(status, 200);
    assert.deepEqual([body.data.length, body.data.series, body.data.reason], [16, series, null]);
    assert.isNumber(body.data.hurst);
    assert.isNumber(body.data.fractalDimension);
    assert.include(body.data.method.hurst, "Detrended fluctuation analysis");
    const long = Array.from({ length: 501 }, (_, index) => index);
    assertError(
      await api.request("POST", PATH, { key: agent.apiKey, body: { series: long } }),
      400,
      "validation_error",
    );
  });

  it("[S4.r33.2] answers 401 without a key", async () => {
    assertError(await api.request("GET", PATH), 401, "invalid_api_key");
    const body = { series: Array.from({ length: 16 }, () => 1) };
    assertError(await api.request("POST", PATH, { body }), 401, "invalid_api_key");
  });

  it("counts towards the general limit, and answers 429 with Retry-After beyond it", async () => {
    const limits = limitsWith();
    const limited = await startTestApi({
      env: { limits: { ...limits, rateLimits: { ...limits.rateLimits, general: 2 } } },
    });
    try {
      const { apiKey: key } = await limited.registerAgent();
      const body = { series: Array.from({ length: 16 }, () => 1) };
      for (let call = 0; call < 2; call += 1) await limited.request("POST", PATH, { key, body });
      const refused = await limited.request("POST", PATH, { key, body });
      assertError(refused, 429, "rate_limit_exceeded");
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    } finally {
      await limited.close();
    }
  });
});
