import { Client } from "@modelcontextprotocol/client";
import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { announce, TestStream } from "../../fixtures/event-stream.ts";
import { connectMcp } from "../../fixtures/mcp.ts";
import type { McpCaller } from "../../fixtures/mcp.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";
import { until } from "../../fixtures/until.ts";

const VERSION = "2026-07-28";

describe("subscriptions to deals", () => {
  let api: TestApi;
  /** Another process on the same database. */
  let other: TestApi;
  let agent: TestAgent;
  let opened: { close: () => unknown }[] = [];

  before(async () => {
    api = await startTestApi();
    other = await startTestApi({ databaseName: api.container.connection.name });
  });
  beforeEach(async () => {
    agent = await api.registerAgent();
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    opened = [];
  });
  after(async () => {
    await other.stop();
    await api.close();
  });

  /** A client, and the addresses of what it was told has changed. */
  async function connect(key?: string): Promise<{ caller: McpCaller; client: Client; told: string[] }> {
    const caller = await connectMcp(api.url, VERSION, key === undefined ? {} : { key });
    opened.push(caller);
    const told: string[] = [];
    const { client } = caller;
    assert.instanceOf(client, Client);
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    return { caller, client, told };
  }
  const listen = (client: Client, ...deals: string[]) =>
    client.listen({ resourceSubscriptions: deals.map((id) => `deal://${id}`) });
  const refusalOf = async (asked: Promise<unknown>) =>
    asked.then(
      () => assert.fail("the subscription isn't refused"),
      (error: unknown) => error as { code: number; data?: { code?: string } },
    );

  it("report what happens to the caller's own deals in any process, and nothing of others'", async () => {
    const { client, told } = await connect(agent.apiKey);
    const stranger = await api.registerAgent();
    const foreign = await connect(stranger.apiKey);
    const { honoredFilter } = await listen(client, "txn_1", "txn_2");
    assert.deepEqual(honoredFilter, { resourceSubscriptions: ["deal://txn_1", "deal://txn_2"] });
    await listen(foreign.client, "txn_1");
    for (const transactionId of ["txn_1", "txn_3", "txn_2", "txn_1"]) {
      await announce(other.container, "change", [agent.agentId], { transactionId });
    }
    await announce(other.container, "last", [stranger.agentId], { transactionId: "txn_1" });
    await until("all is told", () => Promise.resolve(told.length >= 3 && foreign.told.length > 0));
    assert.deepEqual(told, ["deal://txn_1", "deal://txn_2", "deal://txn_1"]);
    assert.deepEqual(foreign.told, ["deal://txn_1"]);
  });

  it("count among the agent's five streams, until their client leaves", async () => {
    const { client } = await connect(agent.apiKey);
    for (let count = 0; count < 4; count += 1) {
      opened.push(await TestStream.open({ url: other.url, key: agent.apiKey }));
    }
    const fifth = await listen(client, "txn_1");
    const refused = await refusalOf(listen(client, "txn_2"));
    assert.deepInclude(refused, { code: -32_602 });
    assert.strictEqual(refused.data?.code, "too_many_streams");
    await fifth.close();
    await until("the stream is free again", async () => {
      const next = await listen(client, "txn_2").catch(() => undefined);
      return next !== undefined;
    });
  });

  it("end with the caller's key", async () => {
    const { client } = await connect(agent.apiKey);
    const { closed } = await listen(client, "txn_1");
    await api.request("POST", "/api/v1/auth/keys", { body: await keyRequestBody(agent.account) });
    assert.strictEqual(await closed, "graceful");
  });

  it("need a key, as the agent's other streams do", async () => {
    const { client } = await connect();
    assert.strictEqual((await refusalOf(listen(client, "txn_1"))).data?.code, "invalid_api_key");
    const wrong = await connect(`ak_${"0".repeat(64)}`);
    assert.strictEqual((await refusalOf(listen(wrong.client, "txn_1"))).data?.code, "invalid_api_key");
  });

  it("hold no stream open for what never changes", async () => {
    const { client } = await connect();
    const { honoredFilter, closed } = await client.listen({ toolsListChanged: true });
    assert.deepEqual(honoredFilter, {});
    assert.strictEqual(await closed, "graceful");
  });

  it("are offered to clients of the revision that has them alone", async () => {
    const { client } = await connect(agent.apiKey);
    assert.isTrue(client.getServerCapabilities()?.resources?.subscribe);
    const earlier = await connectMcp(api.url, "2025-11-25", { key: agent.apiKey });
    opened.push(earlier);
    assert.isUndefined(earlier.client.getServerCapabilities()?.resources?.subscribe);
  });
});
