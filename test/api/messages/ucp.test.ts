import { assert } from "chai";

import { assertError, assertInvalid } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { Correspondent, startMessageApi } from "../../fixtures/messages.ts";

const UCP = "/api/v1/ucp/messages";
const REFUSAL = { error: "Invalid or inactive API key" };

describe("ucp messages", () => {
  let api: TestApi;
  let alice: Correspondent;
  let bob: Correspondent;
  before(async () => {
    api = await startMessageApi();
    [alice, bob] = await Promise.all([Correspondent.register(api), Correspondent.register(api)]);
  });
  after(() => api.close());

  const offer = (fields: object = {}) => ({ type: "offer", toAgentId: bob.id, payload: { price: 3 }, ...fields });

  it("[S4.r32] [S4.r32.1] [D29] are sent and listed with a Bearer key, newest first, by sender and recipient", async () => {
    const headers = { authorization: `Bearer ${alice.agent.apiKey}` };
    const first = await api.request("POST", UCP, { headers, body: offer() });
    assert.strictEqual(first.status, 201, first.text);
    const { id, createdAt, ...fields } = first.body.data;
    assert.deepEqual(fields, { type: "offer", fromAgentId: alice.id, toAgentId: bob.id, payload: { price: 3 } });
    assert.match(`${id} ${createdAt}`, /^msg_[0-9a-f]{32} 20/);
    const second = await api.request("POST", UCP, { headers, body: offer({ type: "counter" }) });
    for (const reader of [alice, bob]) {
      const page = (await reader.call("GET", `${UCP}?limit=1`)).body;
      assert.deepEqual(page.data, [second.body.data]);
      const next = (await reader.call("GET", `${UCP}?limit=1&cursor=${page.nextCursor}`)).body;
      assert.deepEqual([next.data, next.nextCursor], [[first.body.data], null]);
    }
    const stranger = await Correspondent.register(api);
    assert.deepEqual((await stranger.call("GET", UCP)).body.data, []);
  });

  it("[S4.r32.4] [S5.16] come from the agent of the key: a value in the body is ignored, other unknown fields are errors", async () => {
    for (const fromAgentId of [bob.id, "agt_nobody", 7, null]) {
      const answer = await alice.call("POST", UCP, offer({ fromAgentId }));
      assert.strictEqual(answer.status, 201, answer.text);
      assert.strictEqual(answer.body.data.fromAgentId, alice.id);
    }
    assertInvalid(await alice.call("POST", UCP, offer({ from: bob.id })), "body.from");
    assertError(await alice.call("POST", UCP, offer({ toAgentId: "agt_nobody" })), 404, "recipient_not_found");
  });

  it("are in the recipient's inbox and event log too", async () => {
    const { body } = await alice.call("POST", UCP, offer({ type: "invoice" }));
    const [message] = (await bob.list("?limit=1")).data;
    assert.deepEqual(
      [message.id, message.contentType, message.body],
      [body.data.id, "application/ucp+json", { type: "invoice", payload: { price: 3 } }],
    );
    assert.strictEqual((await bob.events()).at(-1)?.payload.messageId, body.data.id);
  });

  it("[S4.r32.2] [S4.r32.3] [S7.02] answer 401 with exactly one field to a key that isn't stored, or not any more", async () => {
    const leaver = await api.registerAgent();
    await api.request("DELETE", "/api/v1/auth/keys", { key: leaver.apiKey });
    const { apiKey } = alice.agent;
    const other = await api.registerAgent();
    const refused: Record<string, string>[] = [
      {},
      { authorization: `Bearer svc_${"0".repeat(64)}` },
      { authorization: `Bearer ${leaver.apiKey}` },
      { authorization: "Bearer nonsense" },
      { authorization: `Basic ${apiKey}` },
      { authorization: apiKey },
      // Only a bearer token counts.
      { "x-api-key": apiKey },
      { "x-api-key": apiKey, authorization: `Bearer svc_${"0".repeat(64)}` },
      // Two callers in one request are none.
      { "x-api-key": other.apiKey, authorization: `Bearer ${apiKey}` },
    ];
    for (const headers of refused) {
      for (const [method, path] of [
        ["GET", UCP],
        ["POST", UCP],
        ["GET", "/v1/ucp/messages"],
      ] as const) {
        const answer = await api.request(method, path, { headers, ...(method === "POST" ? { body: offer() } : {}) });
        assert.deepEqual([answer.status, answer.body], [401, REFUSAL], JSON.stringify(headers));
      }
    }
  });
});
