// A renewal or deletion whose process was killed before it answered: its repeat does nothing more (decision 43).
import { assert } from "chai";

import { newId } from "../../../api/lib/ids.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { memoryOf } from "../../fixtures/memory.ts";
import type { MemoryCaller } from "../../fixtures/memory.ts";

const RENEWAL_MS = 90 * 86_400_000;
const KEYED = { "idempotency-key": "killed" };

describe("a repeated change of a memory entry", () => {
  let api: TestApi;
  let agent: TestAgent;
  let memory: MemoryCaller;

  before(async () => {
    api = await startTestApi({ env: { limits: limitsWith({ memoryWrite: 100_000, memoryRead: 100_000 }) } });
  });
  after(() => api.close());
  beforeEach(async () => {
    agent = await api.registerAgent();
    memory = memoryOf(api, agent);
  });

  /** Leaves the keys as a process does that was killed before it kept an answer, once their leases have ended. */
  const forgetAnswers = () =>
    api.container.connection
      .collection("idempotency_keys")
      .updateMany({}, { $set: { state: "open", answer: null, leaseEndsAt: new Date(0) } });

  const lifeOf = async (key: string) => Date.parse((await memory.read(key)).body.data.expiresAt);

  it("[D43] a deletion answers like the first, and leaves alone what was written since", async () => {
    await memory.write("plan", "old");
    const first = await memory.remove("plan", "", KEYED);
    assert.strictEqual(first.status, 200, first.text);
    await forgetAnswers();
    const again = await memory.remove("plan", "", KEYED);
    assert.deepEqual([again.status, again.body], [200, first.body]);
    await memory.write("plan", "new");
    await forgetAnswers();
    assert.strictEqual((await memory.remove("plan", "", KEYED)).status, 200);
    assert.strictEqual((await memory.read("plan")).body.data.value, "new");
    // Another request does delete it.
    assert.strictEqual((await memory.remove("plan")).status, 200);
    assertError(await memory.read("plan"), 404, "not_found");
  });

  it("[D43] a deletion of a version answers like the first, whatever the version is now", async () => {
    await memory.write("plan", "old");
    const headers = { ...KEYED, "if-match": '"1"' };
    assert.strictEqual((await memory.remove("plan", "", headers)).status, 200);
    await memory.write("plan", "new");
    await memory.write("plan", "newer");
    await forgetAnswers();
    assert.strictEqual((await memory.remove("plan", "", headers)).status, 200);
    assert.strictEqual((await memory.read("plan")).body.data.value, "newer");
  });

  it("[D43] a renewal adds 90 days once, although another one and a write came in between", async () => {
    await memory.write("plan", 1, { ttlSeconds: 3_600 });
    const before = await lifeOf("plan");
    const headers = { ...KEYED, "if-match": '"1"' };
    assert.strictEqual((await memory.renew("plan", headers)).status, 200);
    assert.strictEqual((await memory.renew("plan")).status, 200);
    await forgetAnswers();
    const again = await memory.renew("plan", headers);
    assert.deepEqual([again.status, Date.parse(again.body.data.expiresAt) - before], [200, 2 * RENEWAL_MS], again.text);
    await memory.write("plan", 2, { ttlSeconds: 3_600 });
    const rewritten = await lifeOf("plan");
    await forgetAnswers();
    const last = await memory.renew("plan", headers);
    assert.deepEqual([last.status, last.body.data.version, last.headers.get("etag")], [200, 2, '"2"'], last.text);
    assert.strictEqual(await lifeOf("plan"), rewritten);
  });

  it("[D43] a refused renewal runs again", async () => {
    assertError(await memory.renew("plan", KEYED), 404, "not_found");
    await memory.write("plan", 1);
    const before = await lifeOf("plan");
    assert.strictEqual((await memory.renew("plan", KEYED)).status, 200);
    assert.strictEqual((await lifeOf("plan")) - before, RENEWAL_MS);
  });

  it("[D43] a renewal whose process was paused while repeats of it ran adds nothing", async () => {
    await memory.write("plan", 1);
    const before = await lifeOf("plan");
    const id = newId("mem", new Date());
    const { memory: service } = api.container.features.memory.services;
    const renew = (isRepeat: boolean) =>
      service.renew(
        agent.agentId,
        { namespace: "default", key: "plan" },
        {},
        { isRepeat, isRepeatable: true, newId: () => id },
      );
    await Promise.all([renew(true), renew(true), renew(false)]);
    await renew(false);
    assert.strictEqual((await lifeOf("plan")) - before, RENEWAL_MS);
  });
});
