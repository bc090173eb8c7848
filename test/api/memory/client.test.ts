// The memory of the client package, and exports and imports, which it sends in portions.
import { assert } from "chai";

import { collect, Marketplace } from "../../../sdk/src/index.ts";
import type { Agent } from "../../../sdk/src/index.ts";
import { assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { memoryOf } from "../../fixtures/memory.ts";

describe("the client's memory", () => {
  let api: TestApi;
  let registered: TestAgent;
  let agent: Agent;

  const clientOf = ({ apiKey }: TestAgent) => new Marketplace({ url: api.url }).agent({ apiKey });

  before(async () => {
    api = await startTestApi({ env: { limits: limitsWith() } });
  });
  after(() => api.close());
  beforeEach(async () => {
    registered = await api.registerAgent();
    agent = clientOf(registered);
  });

  it("[S2.7.01] [S2.7.04] [S2.7.05] [D48] writes, reads, renews, lists and deletes, at a version where it is asked to", async () => {
    const { memory } = agent;
    const first = await memory.write({ key: "a/b", value: { n: 1 }, tags: ["t"] }, { onlyNew: true });
    const second = await memory.write({ key: "a/b", value: { n: 2 } }, { ifMatch: first.version });
    await assert.isRejected(memory.write({ key: "a/b", value: 3 }, { ifMatch: 1 }), /version_mismatch/);
    await assert.isRejected(memory.write({ key: "a/b", value: 3 }, { onlyNew: true }), /version_mismatch/);
    assert.deepEqual(await memory.read("a/b"), second);
    assert.deepEqual((await memory.read("a/b", { version: 1 })).value, { n: 1 });
    assert.deepEqual(
      (await collect(memory.history("a/b"))).map(({ version }) => version),
      [2, 1],
    );
    const renewed = await memory.renew("a/b", { ifMatch: 2 });
    assert.strictEqual(Date.parse(renewed.expiresAt ?? "") - Date.parse(second.expiresAt ?? ""), 90 * 86_400_000);
    await memory.writeAll([
      { key: "c", value: 1, namespace: "other" },
      { key: "d", value: 2, namespace: "other" },
    ]);
    assert.deepEqual(
      (await collect(memory.list({ namespace: "other", limit: 1 }))).map(({ key }) => key),
      ["c", "d"],
    );
    await assert.isRejected(memory.remove("a/b", { ifMatch: 1 }), /version_mismatch/);
    await memory.remove("a/b", { ifMatch: 2 });
    await assert.isRejected(memory.read("a/b"), /not_found/);
  });

  it("[S4.r26] searches", async () => {
    await agent.memory.write({ key: "k", value: "quorblex" });
    assert.deepEqual(
      (await agent.memory.search("quorblex", { limit: 1 })).map(({ key }) => key),
      ["k"],
    );
  });

  it("[D27] exports everything, imports it for another agent in portions, and importing it again changes nothing", async () => {
    const large = "x".repeat(60_000);
    for (let n = 0; n < 5; n += 1) await agent.memory.write({ key: `large${n}`, value: large, tags: ["l"] });
    await agent.memory.writeAll(
      Array.from({ length: 100 }, (_, n) => ({ key: `k${n}`, value: { n }, namespace: "other", ttlSeconds: 3_600 })),
    );
    const lines = await agent.memory.export();
    assert.strictEqual(lines.trimEnd().split("\n").length, 105);
    const target = await api.registerAgent();
    const { memory } = clientOf(target);
    assert.deepEqual(await memory.import(lines), { created: 105, updated: 0, unchanged: 0, skipped: [] });
    assert.deepEqual(await memory.import(lines), { created: 0, updated: 0, unchanged: 105, skipped: [] });
    const timeless = (text: string) => text.replaceAll(/"(createdAt|updatedAt)":"[^"]*"/g, "");
    assert.strictEqual(timeless(await memory.export()), timeless(lines));
    assert.strictEqual((await memory.export({ namespace: "other" })).trimEnd().split("\n").length, 100);
    await memory.write({ key: "large0", value: "changed" });
    assert.strictEqual((await memory.import(lines)).updated, 1);
    assert.strictEqual((await memory.read("large0")).value, large);
  });

  it("[D27] an import skips audit entries and expired ones, and says which", async () => {
    const entries = [
      { key: "escrow/txn_1/1-escrow.funded", namespace: "audit", value: 1, ttlSeconds: null, expiresAt: null },
      { key: "old", value: 1, expiresAt: "2020-01-01T00:00:00.000Z" },
      { key: "new", value: 1 },
    ];
    const report = await agent.memory.import(entries.map((entry) => JSON.stringify(entry)).join("\n"));
    assert.deepEqual(report, {
      created: 1,
      updated: 0,
      unchanged: 0,
      skipped: [
        { index: 0, key: "escrow/txn_1/1-escrow.funded", namespace: "audit", reason: "audit" },
        { index: 1, key: "old", namespace: "default", reason: "expired" },
      ],
    });
  });

  it("[D33] a faulty import names each entry and field, and writes nothing", async () => {
    const memory = memoryOf(api, registered);
    const entries = [{ key: "a", value: 1 }, { key: "b c", value: 1 }, { key: "d" }, { key: "e", value: 1, extra: 1 }];
    const answer = await memory.call("POST", "/import", { body: { entries } });
    assertInvalid(answer, "body.entries.1.key", "body.entries.2.value", "body.entries.3.extra");
    const twice = [
      { key: "a", value: 1 },
      { key: "a", value: 2 },
    ];
    assertInvalid(await memory.call("POST", "/import", { body: { entries: twice } }), "body.entries.1.key");
    assert.deepEqual(await memory.exported(), []);
  });

  it("[D43] a repeat with the same key writes no second version, even if the first answer was never kept", async () => {
    const memory = memoryOf(api, registered);
    const headers = { "idempotency-key": "once" };
    await memory.write("plan", 1, {}, headers);
    await memory.write("other", 1);
    const { keys } = api.container.features.idempotency.models;
    // As after a process that was killed between its commit and its answer.
    await keys.updateMany({}, { $set: { state: "open", answer: null, leaseEndsAt: new Date(0) } });
    const repeated = await memory.write("plan", 1, {}, headers);
    assert.deepEqual([repeated.status, repeated.body.data.version], [201, 1], repeated.text);
    await memory.write("plan", 2);
    await keys.updateMany({}, { $set: { state: "open", answer: null, leaseEndsAt: new Date(0) } });
    assert.strictEqual((await memory.write("plan", 1, {}, headers)).body.data.version, 2);
  });
});
