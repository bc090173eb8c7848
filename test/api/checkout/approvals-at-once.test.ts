// Approvals at once over two processes, and killed at each write (decision 57).
import { assert } from "chai";

import { RATE_LIMITS } from "../../../api/config/constants.ts";
import type { RateClass } from "../../../api/config/constants.ts";
import { assertError, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { approvalRequests } from "../../fixtures/approval-requests.ts";
import { grantBody } from "../../fixtures/approvals.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { openChain } from "../../fixtures/stack.ts";
import { startSecondProcess } from "../../fixtures/two-processes.ts";

/** Price of the market's service. */
const PRICE = 2.5;
const ENOUGH = Object.fromEntries(Object.keys(RATE_LIMITS).map((name) => [name, 10_000])) as Record<RateClass, number>;

describe("an approval, by several processes", () => {
  const oneProcess = "the second process is the test's own";
  let api: TestApi;
  let second: { url: string; stop(): Promise<void> };
  let route: FaultyRoute;
  let victim: TestApi;
  let market: Market;

  before(async () => {
    const limits = limitsWith(ENOUGH);
    api = await startTestApi({ oneProcess, runsLoops: false, env: { limits } });
    const { env, connection } = api.container;
    const timings = { indexWaitMs: 60_000, answerLimitMs: 120_000 };
    second = await startSecondProcess({ env, databaseName: connection.name, timings, search: false });
    route = await faultyDatabase((await readStack()).mongodbUri);
    victim = await startTestApi({ oneProcess, databaseName: connection.name, env: { limits, mongodbUri: route.url } });
    market = await openMarket(api, await openChain("base-sepolia"), { price: PRICE });
  });
  after(async () => {
    await victim.stop();
    await second.stop();
    await api.close();
    await route.close();
  });

  const { buyerWith, call, ask, owner, grant, decline, list, statusOf, spentOf, dealsOf, eventsOf, asked, granted } =
    approvalRequests(() => ({ api, market }));

  it("is one of at most ten of a key that wait, however many are asked for at once over two processes", async () => {
    const buyer = await buyerWith();
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        ask(buyer, { disputeWindow: 300 + (n % 12) }, n % 2 === 0 ? api.ownUrl : second.url),
      ),
    );
    const waiting = answers.filter(({ status }) => status === 202);
    assert.strictEqual(new Set(waiting.map(({ body }) => body.data.approval.id)).size, 10);
    assert.lengthOf(await list(buyer.apiKey), 10);
    for (const answer of answers) {
      if (answer.status === 202) continue;
      assertError(answer, 409, "approval_limit_reached");
      assert.deepEqual(answer.body.details, { limit: 10 });
    }
    const [first] = await list(buyer.apiKey);
    await decline(first.id);
    assert.strictEqual((await ask(buyer, { disputeWindow: 400 })).status, 202, "a decision makes room");
  });

  it("raced over two processes, is granted once and bought once", async () => {
    const buyer = await buyerWith({ totalUsd: "1" });
    const approval = await asked(buyer);
    const body = await grantBody(owner().account, approval);
    const processOf = (n: number) => (n % 2 === 0 ? api.ownUrl : second.url);
    const grants = await Promise.all(
      Array.from({ length: 6 }, (_, n) => grant(approval.id, body, owner().apiKey, processOf(n))),
    );
    assert.sameMembers(
      grants.map(({ status }) => status),
      [200, 409, 409, 409, 409, 409],
    );
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => ask(buyer, {}, processOf(n))));
    const statuses = answers.map(({ status }) => status).toSorted();
    assert.deepEqual(statuses, [200, ...Array.from({ length: 11 }, () => 202)]);
    assert.strictEqual(new Set(answers.flatMap(({ body: { data } }) => data.approval?.id ?? [])).size, 1);
    assert.deepEqual([await spentOf(buyer), await dealsOf(buyer)], [PRICE, 1]);
    assert.deepEqual(await eventsOf(approval.id), ["approval.requested", "approval.granted"]);
  });

  it("raced between a decline and its checkout, is one of both", async () => {
    for (let round = 0; round < 4; round += 1) {
      const buyer = await buyerWith();
      const { id } = await granted(buyer);
      const [declined, bought] = await Promise.all([decline(id), ask(buyer, {}, second.url)]);
      assert.strictEqual(await dealsOf(buyer), declined.status === 200 ? 0 : 1, `${declined.text} ${bought.text}`);
      assert.strictEqual(await statusOf(id), declined.status === 200 ? "declined" : "used");
    }
  });

  it("killed at any write of its request, grant or checkout, is neither lost nor used twice", async () => {
    const buyer = await buyerWith();
    let number = 0;
    const order = () => ({ intentId: `killed-${number}`, again: true });
    await killAtEachWrite({
      route,
      prepare: () => Promise.resolve((number += 1)),
      work: async () => {
        const answer = await ask(buyer, order(), victim.ownUrl);
        const { approval } = answer.body.data;
        const body = await grantBody(owner().account, approval);
        await call("POST", `/api/v1/approvals/${approval.id}`, owner().apiKey, body, {}, victim.ownUrl);
        await ask(buyer, order(), victim.ownUrl);
      },
      finish: async (what) => {
        assert.strictEqual(await spentOf(buyer), PRICE * (await dealsOf(buyer)), what);
        const answer = await ask(buyer, order());
        if (answer.status === 202) {
          const { approval } = answer.body.data;
          await grant(approval.id, await grantBody(owner().account, approval));
          assert.strictEqual((await ask(buyer, order())).status, 200, what);
        } else assert.strictEqual(answer.status, 200, `${what}: ${answer.text}`);
        assert.deepEqual([await dealsOf(buyer), await spentOf(buyer)], [number, PRICE * number], what);
        const [last] = await list(buyer.apiKey);
        assert.deepEqual(
          (await eventsOf(last.id)).filter((event) => event !== "approval.requested"),
          ["approval.granted"],
          what,
        );
      },
    });
  });
});
