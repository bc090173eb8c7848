// Topics whose subscribers take many transactions to serve.
import { assert } from "chai";

import { INBOX_LIMITS, TOPIC_PATIENCE_MS } from "../../../api/config/constants.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { movedClock } from "../../fixtures/limits.ts";
import { Correspondent, startMessageApi, subscribeCrowd } from "../../fixtures/messages.ts";

/** More than one turn serves. */
const CROWD = 600;

describe("a topic with many subscribers", () => {
  const clock = movedClock();
  let api: TestApi;
  let publisher: Correspondent;
  before(async () => {
    api = await startMessageApi({ clock, timings: { fullInboxRetryMs: 1 } });
    publisher = await register();
  });
  after(() => api.close());

  const register = () =>
    api.registerAgent({ message: { issuedAt: clock.now() } }).then((agent) => new Correspondent(api, agent));
  const step = () => api.container.features.messages.fanOut.step();

  const subscribe = (topic: string, count: number, unread = 0) => subscribeCrowd(api, topic, count, unread);

  it("[S6.45] shares a worker with other topics: their messages don't wait until it is served", async () => {
    const { inboxEntries } = api.container.features.messages.models;
    const small = await register();
    await subscribe("crowded", CROWD);
    await small.subscribe("small");
    await publisher.publish("crowded", "m1");
    await publisher.publish("small", "m1");
    await step();
    const served = await inboxEntries.countDocuments({ topic: "crowded" });
    assert.ok(served > 0 && served < CROWD, `${served} of ${CROWD}`);
    await step();
    assert.deepEqual(await small.bodies(), ["m1"]);
    assert.strictEqual(await inboxEntries.countDocuments({ topic: "crowded" }), served);
    while (await step());
    assert.strictEqual(await inboxEntries.countDocuments({ topic: "crowded" }), CROWD);
  });

  it("[D28] skips what full inboxes had no room for in 24 hours, for all of them in one look", async () => {
    const { subscriptions, topics } = api.container.features.messages.models;
    await subscribe("full", CROWD, INBOX_LIMITS.unread);
    const late = await register();
    await publisher.publish("full", "m1");
    await publisher.publish("full", "m2");
    while ((await subscriptions.countDocuments({ topic: "full", isBlocked: true })) < CROWD) await step();
    clock.pass(TOPIC_PATIENCE_MS + 1_000);
    await late.subscribe("full");
    await publisher.publish("full", "m3");
    // Whatever the worker was doing, the next look is a retry.
    await topics.updateOne({ _id: "full" }, { holder: null, retryAt: new Date(0), dueAt: new Date(0) });
    await step();
    assert.strictEqual(await subscriptions.countDocuments({ topic: "full", missed: 2, deliveredSeq: 2 }), CROWD);
    assert.deepEqual(await late.bodies(), ["m3"]);
  });
});
