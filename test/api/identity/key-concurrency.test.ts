import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";

const KEYS = "/api/v1/auth/keys";
const ROUNDS = 4;
const AT_ONCE = 8;

describe("keys requested at the same moment", () => {
  /** Two APIs on one database. */
  let apis: [TestApi, TestApi];

  before(async () => {
    const first = await startTestApi();
    apis = [first, await startTestApi({ databaseName: first.container.connection.name })];
  });
  after(async () => {
    await apis[1].stop();
    await apis[0].close();
  });

  /** Requests keys for one wallet from both at once, and returns the issued keys. */
  async function askAtOnce(agent: TestAgent, extra: Record<string, unknown> = {}): Promise<string[]> {
    const bodies = await Promise.all(Array.from({ length: AT_ONCE }, () => keyRequestBody(agent.account)));
    const answers = await Promise.all(
      bodies.map((body, index) => apis[index % 2 === 0 ? 0 : 1].request("POST", KEYS, { body: { ...body, ...extra } })),
    );
    for (const answer of answers) assert.strictEqual(answer.status, 201, answer.text);
    return answers.map(({ body }) => (body as { apiKey: string }).apiKey);
  }

  async function acceptedOf(keys: string[]): Promise<string[]> {
    const accepted = [];
    for (const key of keys) {
      const { status } = await apis[0].request("GET", "/api/v1/services", { key });
      if (status === 200) accepted.push(key);
      else assert.strictEqual(status, 401);
    }
    return accepted;
  }

  it("[D21] leave exactly one valid, even if the agent had none before", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const agent = await apis[0].registerAgent();
      await apis[0].request("DELETE", KEYS, { key: agent.apiKey });
      const keys = await askAtOnce(agent);
      assert.strictEqual(new Set(keys).size, AT_ONCE);
      assert.strictEqual((await acceptedOf(keys)).length, 1);
    }
  });

  it("[D21] also end the previous key", async () => {
    const agent = await apis[0].registerAgent();
    const keys = await askAtOnce(agent);
    assert.strictEqual((await acceptedOf([agent.apiKey, ...keys])).length, 1);
    assert.strictEqual((await acceptedOf(keys)).length, 1);
  });

  it("[D21] all end except the last one when their grace period is over", async () => {
    const agent = await apis[0].registerAgent();
    await apis[0].request("DELETE", KEYS, { key: agent.apiKey });
    const keys = await askAtOnce(agent, { revokeOthersAfterSeconds: 60 });
    assert.strictEqual((await acceptedOf(keys)).length, AT_ONCE);
    const { agentId } = agent;
    const stored = await apis[0].container.features.limits.models.access.findById(agentId).lean();
    const endless = stored?.keys.filter(({ expiresAt }) => expiresAt === null);
    assert.deepEqual([stored?.keys.length, endless?.length], [AT_ONCE, 1]);
  });
});
