import { assert } from "chai";

import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";

const USAGE = "/api/v1/auth/usage";
const SERVICES = "/api/v1/services/lst_unknown";
const LIMIT = 8;
const BUDGET = 5;

describe("the database commands of an admission", () => {
  let api: TestApi;
  let agent: TestAgent;
  const sent: string[] = [];

  before(async () => {
    const uri = new URL((await readStack()).mongodbUri);
    uri.searchParams.set("monitorCommands", "true");
    const limits = limitsWith({ general: LIMIT }, { api: BUDGET });
    api = await startTestApi({ env: { mongodbUri: uri.href, limits }, oneProcess: "counts this process's commands" });
    api.container.connection.getClient().on("commandStarted", ({ command }) => {
      if (command["findAndModify"] === "agent_access") sent.push(String(command["findAndModify"]));
    });
  });
  after(() => api.close());

  beforeEach(async () => {
    agent = await api.registerAgent();
    sent.length = 0;
  });

  async function commandsOf(path: string): Promise<{ status: number; commands: number }> {
    sent.length = 0;
    const { status } = await api.request("GET", path, { key: agent.apiKey });
    return { status, commands: sent.length };
  }

  it("are one for an ordinary call, whether or not it draws on a budget and settles an earlier one", async () => {
    assert.deepEqual(await commandsOf(USAGE), { status: 200, commands: 1 });
    assert.deepEqual(await commandsOf(SERVICES), { status: 404, commands: 1 });
    assert.deepEqual(await commandsOf(SERVICES), { status: 404, commands: 1 });
    assert.deepEqual(await commandsOf(USAGE), { status: 200, commands: 1 });
  });

  it("are one for a key with a mandate, whose end lies ahead", async () => {
    const { access } = api.container.features.limits.models;
    const mandated = { "keys.0.scopes": ["read"], "keys.0.expiresAt": new Date(Date.now() + 3_600_000) };
    await access.collection.updateOne({ _id: agent.agentId as never }, { $set: mandated });
    assert.deepEqual(await commandsOf(USAGE), { status: 200, commands: 1 });
    assert.deepEqual(await commandsOf(SERVICES), { status: 404, commands: 1 });
    assert.deepEqual(await commandsOf(SERVICES), { status: 404, commands: 1 });
    await access.collection.updateOne({ _id: agent.agentId as never }, { $set: { "keys.0.expiresAt": new Date(0) } });
    assert.deepEqual(await commandsOf(USAGE), { status: 401, commands: 2 });
  });

  it("are two for a refusal: over the limit, over the budget, with an unknown key", async () => {
    for (let call = 0; call < BUDGET; call += 1) assert.strictEqual((await commandsOf(SERVICES)).status, 404);
    assert.deepEqual(await commandsOf(SERVICES), { status: 402, commands: 2 });
    for (let call = BUDGET + 1; call < LIMIT; call += 1) assert.strictEqual((await commandsOf(USAGE)).status, 200);
    assert.deepEqual(await commandsOf(USAGE), { status: 429, commands: 2 });
    agent = { ...agent, apiKey: `svc_${"0".repeat(64)}` };
    assert.deepEqual(await commandsOf(USAGE), { status: 401, commands: 2 });
  });
});
