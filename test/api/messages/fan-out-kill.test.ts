// Workers that are killed while they hand a topic's messages to its subscribers.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

import { assert } from "chai";

import { readStack } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { Correspondent, startMessageApi, subscribeCrowd } from "../../fixtures/messages.ts";
import { startWorker } from "../../fixtures/processes.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { until } from "../../fixtures/until.ts";

const TOPIC = "prices";
const KILLS = 3;
/** Subscribers beside the two that a test looks at: enough for several transactions a message. */
const CROWD = 120;
const MESSAGES_PER_KILL = 10;

describe("a worker that is killed while it hands out a topic's messages", () => {
  const databaseName = `test_topic_kill_${process.pid}`;
  let api: TestApi;
  let hook: TestReceiver;
  let slowHook: TestReceiver;
  let worker: ChildProcess | undefined;
  before(async () => {
    api = await startMessageApi({ databaseName });
    hook = await startReceiver();
    // It never acknowledges.
    slowHook = await startReceiver(() => 503);
  });
  after(async () => {
    worker?.kill("SIGKILL");
    await api.close();
    await Promise.all([hook.close(), slowHook.close()]);
  });

  async function start(): Promise<ChildProcess> {
    const mongo = new URL((await readStack()).mongodbUri);
    mongo.pathname = databaseName;
    return startWorker(mongo.href);
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
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = await models.inboxEntries.countDocuments();
      for (let n = 0; n < MESSAGES_PER_KILL; n += 1) {
        texts.push(`m${texts.length}`);
        await publisher.publish(TOPIC, texts.at(-1) ?? "");
      }
      worker = await start();
      await until("the worker hands out", async () => (await models.inboxEntries.countDocuments()) > before);
      worker.kill("SIGKILL");
      await once(worker, "exit");
      // As after the lease of the killed worker.
      await models.topics.updateMany({ dueAt: { $ne: null } }, { dueAt: new Date(0) });
    }
    worker = await start();
    const all = (CROWD + 2) * texts.length;
    await until("everything has arrived", async () => (await models.inboxEntries.countDocuments()) >= all, 120_000);
    assert.strictEqual(await models.inboxEntries.countDocuments(), all);
    assert.deepEqual([await subscriber.bodies(), await slow.bodies()], [texts, texts]);
    assert.deepEqual(
      (await subscriber.events()).map(({ payload }) => payload.body as unknown),
      texts,
    );
    const { events } = api.container.features.events.models;
    assert.strictEqual(await events.countDocuments({ type: "message.received" }), all);

    const arrived = () => [...new Set(hook.received.map(({ body }) => body?.body as string))];
    await until("the webhook has all", () => Promise.resolve(arrived().length === texts.length));
    // A message whose worker died may come again, but never for the first time after a later one.
    assert.deepEqual(arrived(), texts);
    // The one that answers 503 gets nothing but the first, which it hasn't acknowledged.
    assert.deepEqual([...new Set(slowHook.received.map(({ body }) => body?.body as string))], texts.slice(0, 1));
  }).timeout(240_000);
});
