// A worker that is killed at each write while it hands a topic's messages to its subscribers.
import { assert } from "chai";

import { readStack } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { startLoops } from "../../fixtures/loops.ts";
import { Correspondent, startMessageApi, subscribeCrowd } from "../../fixtures/messages.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { until } from "../../fixtures/until.ts";

const TOPIC = "prices";
/** Subscribers beside the two that the test looks at: enough for two transactions a message. */
const CROWD = 60;

describe("a worker that is killed at a write while it hands out a topic's messages", () => {
  const options = { databaseName: `test_topic_failpoints_${process.pid}`, oneProcess: "its own process is killed" };
  let route: FaultyRoute;
  let api: TestApi;
  /** Hands out, and is killed. */
  let victim: TestApi;
  let hook: TestReceiver;
  let slowHook: TestReceiver;
  before(async () => {
    route = await faultyDatabase((await readStack()).mongodbUri);
    api = await startMessageApi(options);
    victim = await startMessageApi({ ...options, env: { mongodbUri: route.url } });
    hook = await startReceiver();
    // It never acknowledges.
    slowHook = await startReceiver(() => 503);
  });
  after(async () => {
    await victim.stop();
    await api.close();
    await Promise.all([route.close(), hook.close(), slowHook.close()]);
  });

  async function handOut({ container }: TestApi): Promise<void> {
    while (await container.features.messages.fanOut.step());
  }

  it("[S6.45] [S4.r31] loses none and repeats none: each inbox, log and webhook has all in order, and a failing webhook delays nobody", async () => {
    const { models } = api.container.features.messages;
    const publisher = await Correspondent.register(api);
    const [subscriber, slow] = [await Correspondent.register(api), await Correspondent.register(api)];
    for (const [agent, url] of [
      [subscriber, hook.url],
      [slow, slowHook.url],
    ] as const) {
      await agent.subscribe(TOPIC);
      assert.strictEqual((await agent.call("POST", "/api/v1/messages/webhook", { url })).status, 201);
    }
    await subscribeCrowd(api, TOPIC, CROWD);

    const texts: string[] = [];
    await killAtEachWrite({
      route,
      async prepare() {
        texts.push(`m${texts.length}`);
        await publisher.publish(TOPIC, texts.at(-1) ?? "");
      },
      work: () => handOut(victim),
      async finish(what) {
        // As after the lease of the killed worker.
        await models.topics.updateMany({ dueAt: { $ne: null } }, { dueAt: new Date(0) });
        await handOut(api);
        assert.strictEqual(await models.inboxEntries.countDocuments(), (CROWD + 2) * texts.length, what);
      },
    });
    assert.deepEqual([await subscriber.bodies(), await slow.bodies()], [texts, texts]);
    assert.deepEqual(
      (await subscriber.events()).map(({ payload }) => payload.body as unknown),
      texts,
    );
    const { events } = api.container.features.events.models;
    const received = await events.countDocuments({ type: "message.received" });
    assert.strictEqual(received, (CROWD + 2) * texts.length);

    const loops = startLoops(api, "outbox.dispatch");
    const bodiesAt = (receiver: TestReceiver) => receiver.received.map(({ body }) => body?.body as string);
    await until("the webhook has all", () => Promise.resolve(bodiesAt(hook).length >= texts.length));
    assert.deepEqual(bodiesAt(hook), texts);
    // The one that answers 503 gets nothing but the first, which it hasn't acknowledged.
    assert.deepEqual([...new Set(bodiesAt(slowHook))], texts.slice(0, 1));
    await loops.stop();
  });
});
