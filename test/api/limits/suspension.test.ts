// Keys that go on calling after answers of 429 (section 8.2, decision 34), with a moved clock.
import { assert } from "chai";

import { ApiError } from "../../../api/http/errors.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { limitsWith, movedClock } from "../../fixtures/limits.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

const SECOND = 1_000;
const SERVICES = "/api/v1/services";

describe("a key that doesn't wait", () => {
  const clock = movedClock();
  let api: TestApi;

  before(async () => {
    api = await startTestApi({
      search: true,
      clock,
      env: { limits: limitsWith({ search: 1, discover: 1, keyless: 100_000 }) },
    });
  });
  after(() => api.close());

  const register = () => api.registerAgent({ message: { issuedAt: clock.now() } });

  const search = ({ apiKey }: TestAgent) =>
    api.container.admissionControl.admit({
      auth: "apiKey",
      rateClass: "search",
      budget: undefined,
      ip: "::1",
      headers: { "x-api-key": [apiKey] },
    });

  /** Fills the window and then makes calls that are refused by 429, as many at once as connections to the database. */
  async function refusals(count: number, agent: TestAgent): Promise<void> {
    const ask = () => search(agent);
    await ask();
    const results = [];
    for (let n = 0; n < count; n += 50) {
      results.push(...(await Promise.allSettled(Array.from({ length: Math.min(50, count - n) }, ask))));
    }
    const codes = results.map((result) =>
      result.status === "rejected" ? (result.reason as { code: string }).code : "",
    );
    assert.deepEqual([...new Set(codes)], ["rate_limit_exceeded"]);
  }

  const call = ({ apiKey: key }: TestAgent) => api.request("GET", SERVICES, { key });

  it("[S8.2.20] [D34] is suspended for an hour after 1,000 answers of 429 within ten minutes", async () => {
    const agent = await register();
    await refusals(999, agent);
    assert.strictEqual((await call(agent)).status, 200);
    await rejectionOf(search(agent), ApiError);
    const answer = await call(agent);
    assertError(answer, 401, "invalid_api_key");
    assert.strictEqual(answer.body.error, "Invalid API key");
    assert.closeTo(Number(answer.headers.get("retry-after")), 3_600, 60);
    clock.pass(3_500 * SECOND);
    assertError(await call(agent), 401, "invalid_api_key");
    clock.pass(200 * SECOND);
    assert.strictEqual((await call(agent)).status, 200);
  }).timeout(120_000);

  it("[D34] is not suspended when older answers of 429 have left the ten minutes", async () => {
    const agent = await register();
    await refusals(900, agent);
    clock.pass(700 * SECOND);
    await refusals(900, agent);
    assert.strictEqual((await call(agent)).status, 200);
  }).timeout(120_000);

  describe("after other refusals", () => {
    /** Gives a key all but some of the refusals that suspend it. */
    const refuse = ({ agentId }: TestAgent, count: number) =>
      api.container.features.limits.models.access.collection.updateOne(
        { _id: agentId as never },
        { $set: { "keys.0.refusals": Array.from({ length: count }, () => clock.now()) } },
      );
    const discover = ({ apiKey: key }: TestAgent) =>
      api.request("POST", "/api/v1/discover", { body: { query: "translate" }, key });

    beforeEach(() => {
      clock.pass(120 * SECOND);
    });

    it("[S8.2.20] [D34] is suspended by calls that the window of its address refuses", async () => {
      const [agent, other] = [await register(), await register()];
      assert.strictEqual((await discover(other)).status, 200);
      await refuse(agent, 998);
      assertError(await discover(agent), 429, "rate_limit_exceeded");
      assert.strictEqual((await call(agent)).status, 200);
      assertError(await discover(agent), 429, "rate_limit_exceeded");
      const answer = await call(agent);
      assertError(answer, 401, "invalid_api_key");
      assert.closeTo(Number(answer.headers.get("retry-after")), 3_600, 60);
      assert.strictEqual((await call(other)).status, 200);
    });

    it("[D34] stays suspended no longer for calls that it makes meanwhile", async () => {
      const agent = await register();
      assert.strictEqual((await discover(agent)).status, 200);
      await refuse(agent, 999);
      assertError(await discover(agent), 429, "rate_limit_exceeded");
      clock.pass(3_590 * SECOND);
      await refuse(agent, 999);
      assert.strictEqual((await discover(await register())).status, 200);
      assertError(await discover(agent), 429, "rate_limit_exceeded");
      clock.pass(20 * SECOND);
      assert.strictEqual((await call(agent)).status, 200);
    });
  });

  it("[D34] leaves the agent's other keys and other agents alone", async () => {
    const [agent, other] = [await register(), await register()];
    const { access } = api.container.features.limits.models;
    const suspendedUntil = new Date(clock.now().getTime() + 3_600 * SECOND);
    await access.collection.updateOne(
      { _id: agent.agentId as never },
      { $set: { "keys.0.suspendedUntil": suspendedUntil } },
    );
    assertError(await call(agent), 401, "invalid_api_key");
    assert.strictEqual((await call(other)).status, 200);
  });
});
