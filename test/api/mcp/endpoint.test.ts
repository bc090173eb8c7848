import { request as httpRequest } from "node:http";

import { assert } from "chai";

import { toolsFor } from "../../../tools/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";
import { connectMcp, MCP_CLIENTS } from "../../fixtures/mcp.ts";

const FRIEND = "https://friend.example";
const VERSION = "2026-07-28";
/** Header mismatch, unsupported version: the protocol's own codes. */
const [MISMATCH, UNSUPPORTED] = [-32_020, -32_022];

/** A message of 2026-07-28. */
const message = (method: string, params: Record<string, unknown> = {}, version = VERSION) => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params: {
    ...params,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
});
const headersOf = (method: string) => ({ "mcp-protocol-version": VERSION, "mcp-method": method });

interface Raw {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: any;
}

describe("the endpoint of the hosted tools", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ env: { corsOrigins: [FRIEND] } });
  });
  after(() => api.close());

  /** Sends a request with any headers; `fetch` sets `Host` and `Origin` itself. */
  async function send(
    body: unknown,
    headers: Record<string, string> = {},
    { method = "POST", path = "/mcp" } = {},
  ): Promise<Raw> {
    const { hostname, port } = new URL(api.url);
    const accept = "application/json, text/event-stream";
    const all = { "content-type": "application/json", accept, ...headers };
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ hostname, port, method, path, headers: all }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        answer.on("end", () => {
          let parsed: unknown = text;
          try {
            parsed = JSON.parse(text);
          } catch {
            // Not every answer is JSON.
          }
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: parsed });
        });
      });
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
    });
  }
  const list = (headers: Record<string, string> = {}) =>
    send(message("tools/list"), { ...headersOf("tools/list"), ...headers });

  for (const kind of MCP_CLIENTS) {
    it(`gives a client of ${kind} without a key the list and a search, and says how to get a key`, async () => {
      const caller = await connectMcp(api.url, kind);
      const { tools } = await caller.client.listTools();
      assert.deepEqual(JSON.parse(JSON.stringify(tools)), toolsFor("mcp"));
      assert.isArray((await caller.ask("search_services", { query: "risk of a token" }))["services"]);
      for (const [name, input] of [
        ["my_jobs", {}],
        ["get_service", { serviceId: "lst_1" }],
        ["hire", { intentId: "i", serviceId: "lst_1", maxPrice: "1" }],
      ] as const) {
        const refused = await caller.refusal(name, input);
        assert.include(refused, { code: "api_key_required" });
        assert.include(refused["whatToDo"], "/api/v1/auth/register");
      }
      await caller.close();
    });
  }

  it("describes itself by server/discover, with both revisions' clients in mind", async () => {
    const { status, body } = await send(message("server/discover"), headersOf("server/discover"));
    assert.strictEqual(status, 200);
    assert.include(body.result.supportedVersions, VERSION);
    assert.deepInclude(body.result.capabilities, { extensions: { "org.x402/payment": {} } });
  });

  it("refuses a key that is unknown, and two different ones, as the routes do", async () => {
    const wrong: Record<string, string>[] = [
      { authorization: "Bearer ak_wrong" },
      { authorization: "Basic YTpi" },
      { "x-api-key": `ak_${"0".repeat(64)}` },
    ];
    for (const headers of wrong) {
      const caller = await connectMcp(api.url, VERSION, { headers });
      assert.include(await caller.refusal("my_jobs"), { code: "invalid_api_key" });
      await caller.close();
    }
    const { apiKey } = await api.registerAgent();
    const other = await api.registerAgent();
    const right: Record<string, string>[] = [{ "x-api-key": apiKey }, { authorization: `Bearer ${apiKey}` }];
    for (const headers of right) {
      const caller = await connectMcp(api.url, VERSION, { headers });
      assert.deepEqual(await caller.ask("my_jobs"), { jobs: [] });
      await caller.close();
    }
    const both = { "x-api-key": apiKey, authorization: `Bearer ${other.apiKey}` };
    const caller = await connectMcp(api.url, VERSION, { headers: both });
    assert.include(await caller.refusal("my_jobs"), { code: "invalid_api_key" });
    await caller.close();
  });

  it("takes requests of programs, of its own pages and of allowed sites, and of no other", async () => {
    const { host } = new URL(api.url);
    for (const origin of [undefined, PUBLIC_URL, FRIEND, `http://${host}`]) {
      const { status } = await list(origin === undefined ? {} : { origin });
      assert.strictEqual(status, 200, origin);
    }
    for (const origin of [
      "https://evil.example",
      "null",
      `${PUBLIC_URL}.evil.example`,
      "http://localhost:1",
      "http://",
    ]) {
      const { status, body } = await list({ origin });
      assert.strictEqual(status, 403, origin);
      assert.match(body.error.message, /^Origin/);
    }
  });

  it("takes requests to its own name and to this machine's, and to no other", async () => {
    const { port } = new URL(api.url);
    const own = new URL(PUBLIC_URL).host;
    for (const host of [own, `${own}:443`, `localhost:${port}`, "127.0.0.1", `[::1]:${port}`, "LOCALHOST"]) {
      assert.strictEqual((await list({ host })).status, 200, host);
    }
    for (const host of [
      "evil.example",
      `${own}.evil.example`,
      `evil.example:${port}`,
      "127.0.0.1.evil.example",
      "@",
      "a b",
    ]) {
      const { status, body } = await list({ host });
      assert.strictEqual(status, 403, host);
      assert.match(body.error.message, /^Host/);
    }
  });

  it("allows the protocol's headers to the pages of allowed sites", async () => {
    const asked = { origin: FRIEND, "access-control-request-method": "POST" };
    const { status, headers } = await send(undefined, asked, { method: "OPTIONS" });
    assert.strictEqual(status, 204);
    const allowed = String(headers["access-control-allow-headers"]).toLowerCase().split(",");
    assert.includeMembers(allowed, ["mcp-protocol-version", "mcp-method", "mcp-name", "authorization", "content-type"]);
  });

  it("holds the protocol's headers against the message", async () => {
    for (const [wrong, code] of [
      [{ "mcp-method": "tools/call" }, MISMATCH],
      [{ "mcp-protocol-version": "2025-11-25" }, MISMATCH],
      [{ "mcp-method": "" }, MISMATCH],
    ] as const) {
      const { status, body } = await list(wrong);
      assert.strictEqual(status, 400, JSON.stringify(wrong));
      assert.include(body.error, { code });
      assert.strictEqual(body.id, 1);
    }
    const future = "2099-01-01";
    const { status, body } = await send(message("tools/list", {}, future), {
      ...headersOf("tools/list"),
      "mcp-protocol-version": future,
    });
    assert.strictEqual(status, 400);
    assert.include(body.error, { code: UNSUPPORTED });
    assert.include(body.error.data.supported, VERSION);
    const named = message("tools/call", { name: "my_jobs", arguments: {} });
    const other = await send(named, { ...headersOf("tools/call"), "mcp-name": "hire" });
    assert.strictEqual(other.status, 400);
    assert.include(other.body.error, { code: MISMATCH });
  });

  it("refuses other methods, and bodies that hold no message", async () => {
    for (const method of ["GET", "DELETE", "PUT"]) {
      const { status, headers } = await send(undefined, {}, { method });
      assert.strictEqual(status, 405, method);
      assert.strictEqual(headers["allow"], "POST");
    }
    for (const [body, code] of [
      ["{", -32_700],
      ["7", -32_700],
      [[message("tools/list"), message("tools/list")], -32_600],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n":12345678901234567891}}', -32_600],
    ] as const) {
      const answer = await send(body, headersOf("tools/list"));
      assert.strictEqual(answer.status, 400, JSON.stringify(body));
      assert.include(answer.body.error, { code });
    }
    const typed = await send(message("tools/list"), { ...headersOf("tools/list"), "content-type": "text/plain" });
    assert.strictEqual(typed.status, 415);
    const long = await send(`"${"x".repeat(2_000_000)}"`, headersOf("tools/list"));
    assert.strictEqual(long.status, 413);
    assert.strictEqual((await send(message("tools/list"), headersOf("tools/list"), { path: "/mcp/" })).status, 404);
  });

  it("shows no secret of its own, and no key, in any answer", async () => {
    const { apiKey } = await api.registerAgent();
    const caller = await connectMcp(api.url, VERSION, { key: apiKey });
    const answers = [await caller.ask("my_jobs"), await caller.refusal("get_deal", { dealId: "txn_1" })];
    assert.notInclude(JSON.stringify([answers, await caller.client.listTools()]), apiKey);
    await caller.close();
  });
});
