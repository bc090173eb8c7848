// A write whose process stalls until a repeat of its request has done the same: it is done once, and both have its answer.
import { randomUUID } from "node:crypto";

import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { bsonOf, startBehindDatabaseRoute } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import type { StallingRoute } from "../../fixtures/stall.ts";

describe("a write that its own repeat has overtaken", () => {
  let api: TestApi;
  let child: ApiProcess;
  let route: StallingRoute;
  let sender: TestAgent;
  let recipient: TestAgent;

  before(async () => {
    api = await startTestApi();
    ({ api: child, route } = await startBehindDatabaseRoute(api.container.connection.name));
    [sender, recipient] = [await api.registerAgent(), await api.registerAgent()];
  });
  after(async () => {
    child.kill();
    await route.close();
    await api.close();
  });

  const documentsOf = (collection: string, filter: object) =>
    api.container.connection.collection(collection).countDocuments(filter);

  interface Overtaken {
    /** Text in the message to the database that the first request stalls at. */
    moment: string;
    method?: "POST" | "DELETE";
    path: string;
    body?: object;
    /** How the key is presented. */
    credentials?: Record<string, string>;
  }

  /** `data` of the answer of a request that stalls, and of its repeat. */
  async function overtaken({ moment, method = "POST", path, body, credentials }: Overtaken) {
    const headers = { ...(credentials ?? { "x-api-key": sender.apiKey }), "idempotency-key": randomUUID() };
    const reached = route.stallAt(moment);
    const answering = fetch(child.url + path, {
      method,
      headers: { ...headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    answering.catch(() => undefined);
    await reached;
    const keys = api.container.connection.collection("idempotency_keys");
    await keys.updateMany({}, { $set: { leaseEndsAt: new Date(0) } });
    const repeat = await api.request(method, path, { headers, ...(body === undefined ? {} : { body }) });
    assert.isBelow(repeat.status, 300, repeat.text);
    route.resume();
    const late = await answering;
    assert.deepEqual([late.status, await late.text()], [repeat.status, repeat.text]);
    return repeat.body.data;
  }

  it("that sends a message to an agent sends one", async () => {
    const body = { toAgentId: recipient.agentId, contentType: "text/plain", body: "Once" };
    await overtaken({ moment: bsonOf("findAndModify", "message_inboxes"), path: "/api/v1/messages", body });
    assert.strictEqual(await documentsOf("messages", { toAgentId: recipient.agentId }), 1);
  });

  it("that publishes a message publishes one", async () => {
    const body = { topic: "prices", contentType: "text/plain", body: "3" };
    await overtaken({ moment: bsonOf("findAndModify", "message_topics"), path: "/api/v1/messages", body });
    assert.strictEqual(await documentsOf("messages", { topic: "prices" }), 1);
  });

  it("that sends a ucp message sends one", async () => {
    const body = { type: "offer", toAgentId: recipient.agentId, payload: { price: 3 } };
    const credentials = { authorization: `Bearer ${sender.apiKey}` };
    await overtaken({
      moment: bsonOf("findAndModify", "message_inboxes"),
      path: "/api/v1/ucp/messages",
      body,
      credentials,
    });
    assert.strictEqual(await documentsOf("messages", { ucpType: "offer" }), 1);
  });

  it("that registers a webhook registers one", async () => {
    const body = { url: "https://agent.example/hook", events: ["escrow.funded"] };
    await overtaken({ moment: bsonOf("insert", "webhooks"), path: "/api/v1/webhooks", body });
    assert.strictEqual(await documentsOf("webhooks", { agentId: sender.agentId }), 1);
  });

  it("that removes a webhook answers with what was removed", async () => {
    const body = { url: "https://agent.example/other", events: ["escrow.funded"] };
    const { body: registered } = await api.request("POST", "/api/v1/webhooks", { key: sender.apiKey, body });
    const path = `/api/v1/webhooks/${registered.data.webhookId}`;
    const removed = await overtaken({ moment: bsonOf("findAndModify", "webhooks"), method: "DELETE", path });
    assert.deepEqual(removed, registered.data);
  });

  it("that writes an entry of memory makes one version", async () => {
    const written = await overtaken({
      moment: bsonOf("findAndModify", "memory_totals"),
      path: "/api/v1/memory",
      body: { key: "plan", value: 1 },
    });
    assert.strictEqual(written.version, 1);
    const read = await api.request("GET", "/api/v1/memory/plan", { key: sender.apiKey });
    assert.strictEqual(read.body.data.version, 1);
  });
});
