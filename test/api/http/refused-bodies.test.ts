// A connection after an answer that came before its request's body was read.
import { assert } from "chai";

import { MAX_BODY_BYTES } from "../../../api/config/constants.ts";
import { listen } from "../../../api/server.ts";
import type { RunningServer } from "../../../api/server.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { chunked, headOf, RawClient } from "../../fixtures/raw-client.ts";

const DISCOVER = "/api/v1/discover";
const SERVICES = "/api/v1/services";
const MB = 1024 * 1024;
/** Less than what is read of a refused body. */
const LARGE = Buffer.alloc(MB - 1, "a");
const HUGE = Buffer.alloc(8 * MB, "a");
const JSON_TYPE = { "Content-Type": "application/json" };
/** Longer than a client here takes to send what is huge. */
const LINGER_MS = 2_000;

/** An early answer: its request without the body, and the status. */
interface EarlyAnswer {
  name: string;
  status: number;
  method: string;
  path: string;
  headers?: () => Record<string, string>;
}

describe("an answer that comes before the body was read", () => {
  let api: TestApi;
  let server: RunningServer;
  let url: string;
  let limitedApi: TestApi;
  let agent: TestAgent;
  before(async () => {
    const oneProcess = "speaks to this process's sockets";
    api = await startTestApi({ oneProcess });
    server = await listen(api.container, "127.0.0.1", 0, { lingerMs: LINGER_MS });
    url = `http://127.0.0.1:${server.port}`;
    const { limits } = api.container.env;
    limitedApi = await startTestApi({
      oneProcess,
      env: {
        limits: { rateLimits: { ...limits.rateLimits, discover: 1 }, budgets: { ...limits.budgets, api: 1 } },
      },
    });
    agent = await limitedApi.registerAgent();
    await limitedApi.request("GET", SERVICES, { key: agent.apiKey });
    await limitedApi.request("POST", DISCOVER, { body: {} });
  });
  after(async () => {
    await server.stop();
    await api.close();
    await limitedApi.close();
  });

  const EARLY: EarlyAnswer[] = [
    { name: "413 payload_too_large", status: 413, method: "POST", path: DISCOVER, headers: () => JSON_TYPE },
    ...["gzip", "deflate"].map((encoding) => ({
      name: `400 malformed_json for what isn't ${encoding}`,
      status: 400,
      method: "POST",
      path: DISCOVER,
      headers: () => ({ ...JSON_TYPE, "Content-Encoding": encoding }),
    })),
    { name: "401 invalid_api_key", status: 401, method: "POST", path: SERVICES, headers: () => JSON_TYPE },
    { name: "404 not_found", status: 404, method: "POST", path: "/nowhere", headers: () => JSON_TYPE },
    { name: "405 method_not_allowed", status: 405, method: "PUT", path: DISCOVER, headers: () => JSON_TYPE },
    { name: "415 for a content type", status: 415, method: "POST", path: DISCOVER },
    {
      name: "415 for a content encoding",
      status: 415,
      method: "POST",
      path: DISCOVER,
      headers: () => ({ ...JSON_TYPE, "Content-Encoding": "zstd" }),
    },
    { name: "200 of a route that takes no body", status: 200, method: "GET", path: "/health" },
    { name: "429 rate_limit_exceeded", status: 429, method: "POST", path: DISCOVER, headers: () => JSON_TYPE },
    {
      name: "402 payment_required",
      status: 402,
      method: "GET",
      path: SERVICES,
      headers: () => ({ "X-API-Key": agent.apiKey }),
    },
  ];
  const addressFor = ({ status }: EarlyAnswer) => ([402, 429].includes(status) ? limitedApi.ownUrl : url);

  for (const early of EARLY) {
    const { name, status, method, path, headers = () => ({}) } = early;

    it(`${name} leaves its connection to the next request, with a body of a length and with a chunked one`, async () => {
      const client = await RawClient.open(addressFor(early));
      try {
        for (const [framing, body] of [
          [{ "Content-Length": String(LARGE.length) }, LARGE],
          [{ "Transfer-Encoding": "chunked" }, chunked(LARGE)],
        ] as const) {
          await client.send(headOf(method, path, { ...headers(), ...framing }));
          await client.send(body);
          const refused = await client.answer();
          assert.strictEqual(refused?.status, status, refused?.body);
          assert.notStrictEqual(refused?.headers["connection"], "close");
          await client.send(headOf("GET", "/health"));
          assert.strictEqual((await client.answer())?.status, 200);
        }
      } finally {
        client.socket.destroy();
      }
    });

    it(`${name} reaches a client that reads only after it has sent a body that nobody reads to its end`, async () => {
      for (const [framing, body] of [
        [{ "Content-Length": String(HUGE.length) }, HUGE],
        [{ "Transfer-Encoding": "chunked" }, chunked(HUGE)],
      ] as const) {
        const client = await RawClient.open(addressFor(early));
        await client.send(headOf(method, path, { ...headers(), ...framing }));
        await client.send(body);
        const refused = await client.answer();
        assert.strictEqual(refused?.status, status, refused?.body);
        assert.strictEqual(refused?.headers["connection"], "close");
        await client.closed;
      }
    });
  }

  it("reaches a client that the HTTP parser gave up on, although it goes on sending", async () => {
    for (const [start, status] of [
      ["NONSENSE\r\n\r\n", 400],
      [`GET /health HTTP/1.1\r\nHost: a\r\nX-Padding: ${"x".repeat(20_000)}`, 431],
    ] as const) {
      const client = await RawClient.open(url);
      await client.send(start);
      await client.send(Buffer.alloc(MB, "x"));
      assert.strictEqual((await client.answer())?.status, status);
      await client.closed;
    }
  });

  it("comes within seconds for a body that doesn't, and closes the connection", async () => {
    const client = await RawClient.open(url);
    await client.send(headOf("POST", "/nowhere", { ...JSON_TYPE, "Content-Length": "100" }));
    const refused = await client.answer();
    assert.deepEqual([refused?.status, refused?.headers["connection"]], [404, "close"]);
    await client.closed;
  });

  it("closes the connection of a client that never stops to send, and answers no request behind its body", async () => {
    const client = await RawClient.open(url);
    let requests = 0;
    server.server.on("request", () => (requests += 1));
    await client.send(headOf("POST", DISCOVER, { ...JSON_TYPE, "Transfer-Encoding": "chunked" }));
    const piece = chunked(Buffer.alloc(MAX_BODY_BYTES, "a")).subarray(0, -"0\r\n\r\n".length);
    const sending = (async () => {
      while (!client.socket.destroyed) await client.send(piece);
    })();
    assert.strictEqual((await client.answer())?.status, 413);
    await client.closed;
    await sending;
    assert.strictEqual(requests, 1);
  });

  it("isn't followed by answers to requests that were sent behind a connection's last one", async () => {
    const client = await RawClient.open(url);
    await client.send(headOf("GET", "/health", { Connection: "close" }) + headOf("GET", "/health").repeat(3));
    assert.strictEqual((await client.answer())?.status, 200);
    assert.isUndefined(await client.answer());
  });
});
