// Many writers of one agent's memory at once, at two processes (decisions 27 and 48).
import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { memoryOf } from "../../fixtures/memory.ts";
import type { MemoryCaller } from "../../fixtures/memory.ts";

describe("memory under races", () => {
  let apis: [TestApi, TestApi];
  let callers: [MemoryCaller, MemoryCaller];

  before(async () => {
    const env = {
      limits: limitsWith({ memoryWrite: 100_000, memoryRead: 100_000 }),
      memoryQuota: { entries: 30, bytes: 1e9 },
    };
    const first = await startTestApi({ env });
    apis = [first, await startTestApi({ env, databaseName: first.container.connection.name })];
  });
  after(async () => {
    await apis[1].stop();
    await apis[0].close();
  });
  beforeEach(async () => {
    const agent = await apis[0].registerAgent();
    callers = [memoryOf(apis[0], agent), memoryOf(apis[1], agent)];
  });

  /** The same for many writers at once, half of them at each process. */
  const race = (count: number, run: (caller: MemoryCaller, n: number) => Promise<Answer>): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => run(callers[n % 2 === 0 ? 0 : 1], n)));

  it("[D48] of 20 writers with the same If-Match at two processes, exactly one wins", async () => {
    await callers[0].write("plan", -1);
    for (let version = 1; version <= 3; version += 1) {
      const answers = await race(20, (caller, n) => caller.write("plan", n, {}, { "if-match": `"${version}"` }));
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [200, ...Array<number>(19).fill(412)]);
      const winner = answers.findIndex(({ status }) => status === 200);
      assert.strictEqual((await callers[1].read("plan")).body.data.value, winner);
    }
  });

  it("[D48] of 20 creators with If-None-Match exactly one wins", async () => {
    const answers = await race(20, (caller, n) => caller.write("plan", n, {}, { "if-none-match": "*" }));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array<number>(19).fill(412)]);
  });

  it("[S2.7.04] no write without a condition is lost: each is a version", async () => {
    const answers = await race(24, (caller, n) => caller.write("plan", n));
    const versions = answers.map(({ body }) => body.data.version).sort((one, other) => one - other);
    assert.deepEqual(
      versions,
      Array.from({ length: 24 }, (_, n) => n + 1),
    );
    const { body } = await callers[0].history("plan", "?limit=100");
    assert.deepEqual(
      body.data.map(({ value }: any) => value).sort((one: number, other: number) => one - other),
      Array.from({ length: 24 }, (_, n) => n),
    );
  });

  it("[D27] a quota is exact", async () => {
    const answers = await race(40, (caller, n) => caller.write(`k${n}`, n));
    assert.strictEqual(answers.filter(({ status }) => status === 201).length, 30);
    for (const { status, body } of answers) if (status !== 201) assert.strictEqual(body.code, "memory_quota_exceeded");
    const totals = await apis[0].container.features.memory.models.totals.findById(callers[0].agentId).lean();
    assert.strictEqual(totals?.entries, 30);
  });
});
