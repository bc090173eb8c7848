import { createHash, randomUUID } from "node:crypto";

import { assert } from "chai";
import { httpbis } from "http-message-signatures";
import { hexToBytes } from "viem";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";

const VERSION = "2026-07-28";
const _meta = {
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

describe("hosted tools of a service that requires request signatures", () => {
  let api: TestApi;
  let agent: TestAgent;

  before(async () => {
    api = await startTestApi({ env: { requireRequestSignatures: true } });
    agent = await api.registerAgent();
  });
  after(() => api.close());

  const bodyOf = (name: string) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {}, _meta } });

  async function signed(body: string, path = "/mcp"): Promise<Record<string, string>> {
    const digest = { "content-digest": `sha-256=:${createHash("sha256").update(body).digest("base64")}:` };
    const { headers } = await httpbis.signMessage(
      {
        key: {
          id: `erc8128:84532:${agent.walletAddress}`,
          sign: async (data) => Buffer.from(hexToBytes(await agent.account.signMessage({ message: { raw: data } }))),
        },
        fields: ["@method", "@target-uri", "content-digest"],
        params: ["created", "nonce", "keyid", "alg"],
        paramValues: { created: new Date(), nonce: randomUUID(), alg: "eip191" },
      },
      { method: "POST", url: PUBLIC_URL + path, headers: digest },
    );
    return headers;
  }

  /** Calls a tool with these signature headers; its answer's text. */
  async function call(name: string, body: string, headers: Record<string, string>): Promise<Record<string, unknown>> {
    const answer = await fetch(new URL("/mcp", api.url), {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": VERSION,
        "mcp-method": "tools/call",
        "mcp-name": name,
        "x-api-key": agent.apiKey,
      },
      body,
    });
    const { result } = (await answer.json()) as { result: { content: { text: string }[] } };
    return JSON.parse(result.content[0]?.text ?? "null") as Record<string, unknown>;
  }

  it("answer a call that the wallet has signed, however many requests it takes, and once", async () => {
    // Two requests at once: the list, and the caller's own id.
    const body = bodyOf("list_deals");
    const headers = await signed(body);
    assert.deepEqual(await call("list_deals", body, headers), { deals: [] });
    assert.include(await call("list_deals", body, headers), { code: "request_signature_invalid" });
  });

  it("refuse a call without a signature, and one that was signed for another body or address", async () => {
    const body = bodyOf("list_deals");
    for (const headers of [{}, await signed(bodyOf("my_jobs")), await signed(body, "/api/v1/transactions")]) {
      assert.include(await call("list_deals", body, headers), { code: "request_signature_invalid" });
    }
  });
});
