import { connect } from "node:net";

import { assert } from "chai";

import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { until } from "../../fixtures/until.ts";

describe("the API key of a request", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ search: true });
  });
  after(() => api.close());

  const register = () => api.registerAgent();

  /** Sends a header line unchanged; fetch would normalise it. */
  async function rawStatus(headerLine: string): Promise<number> {
    const { hostname, port } = new URL(api.url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          `GET /api/v1/services HTTP/1.1\r\nHost: test\r\nConnection: close\r\n${headerLine}\r\n\r\n`,
          "latin1",
        );
      });
      let text = "";
      socket.on("data", (chunk) => (text += chunk.toString("latin1")));
      socket.on("end", () => {
        resolve(Number(text.split(" ")[1]));
      });
      socket.on("error", reject);
    });
  }

  it("[S5.02] [S5.03] X-API-Key and Authorization: Bearer both authenticate", async () => {
    const { apiKey } = await register();
    for (const [name, value] of [
      ["x-api-key", apiKey],
      ["authorization", `Bearer ${apiKey}`],
    ] as const) {
      assert.strictEqual((await api.request("GET", "/api/v1/services", { headers: { [name]: value } })).status, 200);
    }
  });

  it("[S5.04] the API description prefers X-API-Key", async () => {
    const { body } = await api.request("GET", "/openapi.json");
    const { securitySchemes } = body.components;
    assert.deepEqual([securitySchemes.apiKey.in, securitySchemes.apiKey.name], ["header", "X-API-Key"]);
    assert.match(securitySchemes.apiKey.description, /Preferred/);
    assert.match(securitySchemes.bearer.description, /X-API-Key is preferred/);
    assert.strictEqual(securitySchemes.bearer.scheme, "bearer");
  });

  it("[S7.01] a missing key answers 401 Invalid API key", async () => {
    const answer = await api.request("GET", "/api/v1/services");
    assertError(answer, 401, "invalid_api_key");
    assert.strictEqual(answer.body.error, "Invalid API key");
  });

  it("[S7.02] an unknown or malformed key answers 401 Invalid API key", async () => {
    const { apiKey } = await register();
    const wrong = [
      `svc_${"0".repeat(64)}`,
      `svc_live_${"0".repeat(64)}`,
      `svc_${"0".repeat(63)}`,
      apiKey.slice(4),
      apiKey.toUpperCase(),
      "undefined",
    ];
    for (const key of wrong) {
      const answer = await api.request("GET", "/api/v1/services", { key });
      assertError(answer, 401, "invalid_api_key");
      assert.strictEqual(answer.body.error, "Invalid API key");
    }
  });

  it("a key in the query, in another scheme or twice in one header line doesn't authenticate", async () => {
    const { apiKey } = await register();
    assert.strictEqual((await api.request("GET", `/api/v1/services?apiKey=${apiKey}`)).status, 401);
    const headers = { authorization: `Basic ${apiKey}` };
    assert.strictEqual((await api.request("GET", "/api/v1/services", { headers })).status, 401);
    const twice = { "x-api-key": `${apiKey}, ${apiKey}` };
    assert.strictEqual((await api.request("GET", "/api/v1/services", { headers: twice })).status, 401);
  });

  it("[S5.02] the same key may be sent twice, in one header or in both", async () => {
    const { apiKey } = await register();
    const [own, bearer] = [`X-API-Key: ${apiKey}`, `Authorization: Bearer ${apiKey}`];
    for (const lines of [`${own}\r\n${bearer}`, `${own}\r\n${own}`, `${bearer}\r\n${bearer}`]) {
      assert.strictEqual(await rawStatus(lines), 200, lines);
    }
    // Credentials of another scheme, for a proxy in front of the service, don't count as a second key.
    assert.strictEqual(await rawStatus(`${own}\r\nAuthorization: Basic dXNlcjpwYXNz`), 200);
  });

  it("[S7.02] two different keys in one request answer 401, even if both are valid", async () => {
    const [{ apiKey: one }, { apiKey: two }] = [await register(), await register()];
    const headers = { "x-api-key": one, authorization: `Bearer ${two}` };
    const answer = await api.request("GET", "/api/v1/services", { headers });
    assertError(answer, 401, "invalid_api_key");
    assert.strictEqual(answer.body.error, "Invalid API key");
    for (const lines of [
      `X-API-Key: ${one}\r\nX-API-Key: ${two}`,
      `Authorization: Bearer ${one}\r\nAuthorization: Bearer ${two}`,
      `X-API-Key: ${one}\r\nAuthorization: Bearer svc_${"0".repeat(64)}`,
      `Authorization: Bearer ${one}\r\nX-API-Key: `,
    ]) {
      assert.strictEqual(await rawStatus(lines), 401, lines);
    }
  });

  it("discover works with and without a key, but not with a wrong one", async () => {
    const { apiKey } = await register();
    const discover = (key?: string) =>
      api.request("POST", "/api/v1/discover", { body: { query: "risk" }, ...(key === undefined ? {} : { key }) });
    // On a loaded machine, the encoder may not have started within its timeout: then discover answers 503.
    await until("the encoder has started", async () => (await discover()).status === 200);
    assert.strictEqual((await discover(apiKey)).status, 200);
    assertError(await discover(`svc_${"0".repeat(64)}`), 401, "invalid_api_key");
  });

  it("[S5.07] a key with whitespace in or around it is invalid", async () => {
    const { apiKey } = await register();
    const middle = `${apiKey.slice(0, 10)} ${apiKey.slice(10)}`;
    for (const header of [
      `X-API-Key: ${middle}`,
      `X-API-Key: \t ${apiKey}\u00a0`,
      `Authorization: Bearer  ${apiKey}`,
    ]) {
      assert.strictEqual(await rawStatus(header), 401, JSON.stringify(header));
    }
  });
});
