// Purchases with an intentId in two processes at the same time, and in one that is killed.
import { assert } from "chai";

import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestApi } from "../../fixtures/api.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { openChain } from "../../fixtures/stack.ts";
import { startSecondProcess } from "../../fixtures/two-processes.ts";

const AT_ONCE = 6;
const ROUNDS = 5;

describe("purchases with an intentId", () => {
  const oneProcess = "the second process is the test's own";
  let api: TestApi;
  let second: { url: string; stop(): Promise<void> };
  let route: FaultyRoute;
  /** Its process is killed. */
  let victim: TestApi;
  let market: Market;
  let numbers = 0;

  before(async () => {
    const stack = await readStack();
    api = await startTestApi({ oneProcess });
    const { env, connection } = api.container;
    const timings = { indexWaitMs: 60_000, answerLimitMs: 120_000 };
    second = await startSecondProcess({ env, databaseName: connection.name, timings, search: false });
    route = await faultyDatabase(stack.mongodbUri);
    victim = await startTestApi({ oneProcess, databaseName: connection.name, env: { mongodbUri: route.url } });
    market = await openMarket(api, await openChain("base-sepolia"));
  });
  after(async () => {
    await victim.stop();
    await second.stop();
    await api.close();
    await route.close();
  });

  const newOrder = () => ({
    serviceId: market.serviceId,
    paymentMethod: "usdc",
    requestPayload: { test: (numbers += 1) },
    intentId: `raced-${(numbers += 1)}`,
  });
  const ask = (body: object, on: string): Promise<Pick<Answer, "status" | "body">> =>
    fetch(`${on}/api/v1/checkout`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": market.buyer.apiKey },
      body: JSON.stringify(body),
    }).then(async (answer) => ({ status: answer.status, body: await answer.json() }));
  const processOf = (n: number) => (n % 2 === 0 ? api.ownUrl : second.url);
  const deals = (filter: object) => api.container.features.transactions.models.transactions.countDocuments(filter);

  it("sent to two processes at once, make one deal, and each answer is of it", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const order = newOrder();
      const before = await deals({});
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => ask(order, processOf(n))));
      for (const { status, body } of answers) assert.strictEqual(status, 200, JSON.stringify(body));
      const ids = answers.map(({ body }) => body.data.paymentInstructions.escrowId as string);
      assert.lengthOf([...new Set(ids)], 1);
      assert.strictEqual(await deals({}), before + 1);
    }
  });

  it("of the same under two ids, sent to two processes at once, make one deal", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = await deals({});
      const order = newOrder();
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, n) => ask({ ...order, intentId: `${order.intentId}-${n}` }, processOf(n))),
      );
      const codes = answers.map(({ status, body }) => (status === 200 ? "bought" : String(body.code)));
      assert.deepEqual(codes.sort(), ["bought", ...Array<string>(AT_ONCE - 1).fill("looks_like_a_repeat")]);
      assert.strictEqual(await deals({}), before + 1);
    }
  });

  it("killed at any of its writes, make one deal", async () => {
    let order = newOrder();
    const kept = new Map<string, number>();
    const names = await killAtEachWrite({
      route,
      prepare: () => {
        order = newOrder();
        return Promise.resolve();
      },
      work: () => ask(order, victim.ownUrl),
      finish: async (what) => {
        const left = await deals({ intentId: order.intentId });
        kept.set(what, left);
        const [one, other] = [await ask(order, api.ownUrl), await ask(order, second.url)];
        assert.deepEqual([one.status, other.status], [200, 200], `${what}: ${JSON.stringify(one.body)}`);
        assert.deepEqual(one.body, other.body, what);
        assert.strictEqual(await deals({ intentId: order.intentId }), 1, what);
      },
    });
    assert.isTrue(names.some((name) => name.startsWith("insert intents")));
    assert.sameMembers([...new Set(kept.values())], [0, 1], "some kills came before the deal, some after");
  });
});
