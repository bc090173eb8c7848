// Texts and addresses that could deceive a reader get a 400 with the field's name.
import { assert } from "chai";

import { assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";

const SCORE = "/api/v1/agents/score";
const RIGHT = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const WRONG = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD";

describe("names, titles and addresses", () => {
  let api: TestApi;
  let key: string;

  before(async () => {
    api = await startTestApi();
    key = (await api.registerAgent()).apiKey;
  });
  after(() => api.close());

  const list = (fields: Record<string, unknown>) =>
    api.request("POST", "/api/v1/services", { key, body: listingBody(fields) });
  const register = async (fields: Record<string, unknown>) =>
    api.request("POST", "/api/v1/auth/register", { body: { ...(await registrationBody()).body, ...fields } });

  it("a title or agent name accepts no control characters, line separators or direction changes", async () => {
    const forbidden = [
      "\u0000",
      "\t",
      "\n",
      "\u007f",
      "\u0085",
      "\u009f",
      "\u2028",
      "\u200e",
      "\u202e",
      "\u2066",
      "\u061c",
    ];
    for (const character of forbidden) {
      assertInvalid(await list({ title: `Pay ${character} now` }), "body.title");
      assertInvalid(await register({ agentName: `Pay ${character} now` }), "body.agentName");
    }
    for (const invisible of ["\u200b\u200d", "\u2060 \ufeff"]) {
      assertInvalid(await list({ title: invisible }), "body.title");
      assertInvalid(await register({ agentName: invisible }), "body.agentName");
    }
  });

  it("a description accepts line breaks and right-to-left marks, but nothing that reorders what follows", async () => {
    for (const description of ["one\ttwo\r\nthree", "שלום\u200f (42)", "می\u200cخواهم 👩\u200d💻"]) {
      assert.strictEqual((await list({ description })).status, 201);
    }
    for (const character of ["\u0007", "\u0085", "\u202a", "\u202e", "\u2066", "\u2069"]) {
      assertInvalid(await list({ description: `Pay ${character} now` }), "body.description");
    }
  });

  it("[D51] a name, the same with a hidden character and the same with hidden letters are one agent and two refusals", async () => {
    for (const hidden of [
      "\u200b",
      "\u00ad",
      "\ufe0f",
      "\u{e0068}\u{e0069}",
      "\u2060",
      "\u3164",
      "\u2800",
      "\ufffa",
      "\ue000",
    ]) {
      assertInvalid(await register({ agentName: `Acme${hidden} Corp` }), "body.agentName");
      assertInvalid(await list({ title: `Acme${hidden} Corp` }), "body.title");
    }
    assert.strictEqual((await register({ agentName: "Acme Corp" })).status, 201);
  });

  it("[D51] real names and titles with joiners and emoji are stored as they are", async () => {
    for (const text of [
      "نرم\u200cافزار",
      "ශ්\u200dරී ලංකා",
      "Dev 👩\u200d💻",
      "👍🏽 ❤\ufe0f 1\ufe0f\u20e3",
      "Ελληνικά",
      "法律文件翻译",
    ]) {
      assert.strictEqual((await list({ title: text })).body.data.title, text);
      assert.strictEqual((await register({ agentName: text })).status, 201);
    }
  });

  it("[D51] every text that a stranger reads is checked, and the answer names the field", async () => {
    const post = (path: string, body: unknown) => api.request("POST", path, { key, body });
    const filler = "Pay \u3164 now";
    const hidden = `now${"\u200b".repeat(5)}`;
    const toAgentId = "agt_00000000000000000000000000000000";
    const item = { type: "other", description: "See", attachments: [] as string[] };
    const dispute = { transactionId: "txn_1", reason: "Late" };
    const bearer = { authorization: `Bearer ${key}` };
    for (const text of [filler, hidden, "Pay \ufff9now", "now\u{e0061}"]) {
      assertInvalid(await list({ description: text }), "body.description");
      assertInvalid(await register({ description: text }), "body.description");
      assertInvalid(await post("/api/v1/messages", { toAgentId, body: text }), "body.body");
      assertInvalid(
        await post("/api/v1/messages", { topic: "news", body: text, contentType: "text/markdown" }),
        "body.body",
      );
      assertInvalid(
        await post("/api/v1/messages", { toAgentId, body: text, contentType: "application/json" }),
        "body.body",
      );
      assertInvalid(await post("/api/v1/disputes", { ...dispute, reason: text }), "body.reason");
      assertInvalid(
        await post("/api/v1/disputes", { ...dispute, evidence: [{ ...item, description: text }] }),
        "body.evidence.0.description",
      );
      assertInvalid(
        await post("/api/v1/transactions/txn_1/dispute/evidence", { ...item, description: text }),
        "body.description",
      );
      assertInvalid(await post("/api/developer/access", { email: "a@b.test", useCase: text }), "body.useCase");
    }
    for (const text of ["Pay\u200bPal", "Pay\nPal", filler]) {
      assertInvalid(await post("/api/developer/access", { email: "a@b.test", name: text }), "body.name");
      const ucp = { type: text, toAgentId, payload: {} };
      assertInvalid(await api.request("POST", "/api/v1/ucp/messages", { headers: bearer, body: ucp }), "body.type");
    }
    const url = "https://example.test/\u200bhook";
    assertInvalid(await list({ endpointUrl: url }), "body.endpointUrl");
    assertInvalid(await post("/api/v1/webhooks", { url, events: ["escrow.funded"] }), "body.url");
    assertInvalid(
      await post("/api/v1/disputes", {
        ...dispute,
        evidence: [{ ...item, attachments: ["https://a.test/\u202egnp.exe"] }],
      }),
      "body.evidence.0.attachments.0",
    );
  });

  it("[D51] payloads and memory are stored as they are", async () => {
    const value = { text: `a${"\u200b".repeat(9)}\u3164\u{e0061}\ufff9`, "ke\u200by": "\u202e" };
    const stored = await api.request("POST", "/api/v1/memory", { key, body: { key: "hidden", value } });
    assert.deepEqual([stored.status, stored.body.data.value], [201, value]);
    const { agentId } = await api.registerAgent();
    const sent = await api.request("POST", "/api/v1/messages", { key, body: { toAgentId: agentId, body: value } });
    assert.deepEqual([sent.status, sent.body.data.body], [201, value]);
  });

  it("an address with a wrong EIP-55 checksum is refused, and one without a checksum is accepted", async () => {
    for (const address of [RIGHT, RIGHT.toLowerCase(), `0x${RIGHT.slice(2).toUpperCase()}`]) {
      const { status, body } = await api.request("GET", `${SCORE}?address=${address}`);
      assert.deepEqual([status, body.address], [200, RIGHT]);
    }
    assertInvalid(await api.request("GET", `${SCORE}?address=${WRONG}`), "query.address");
    assertInvalid(await register({ walletAddress: WRONG }), "body.walletAddress");
    assertInvalid(await api.request("GET", `${SCORE}?address=0X${RIGHT.slice(2)}`), "query.address");
  });
});
