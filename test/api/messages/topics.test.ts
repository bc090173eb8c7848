import { assert } from "chai";

import { INBOX_LIMITS, SUBSCRIPTIONS_MAX, TOPIC_PATIENCE_MS } from "../../../api/config/constants.ts";
import { assertError, assertInvalid } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { movedClock } from "../../fixtures/limits.ts";
import { Correspondent, startMessageApi } from "../../fixtures/messages.ts";

const SUBSCRIBE = "/api/v1/messages/subscribe";
const upTo = (count: number) => Array.from({ length: count }, (_, index) => `m${index + 1}`);

describe("topics", () => {
  const clock = movedClock();
  let api: TestApi;
  let publisher: Correspondent;
  let topics = 0;
  const newTopic = () => `topic-${(topics += 1)}`;
  before(async () => {
    api = await startMessageApi({ clock, timings: { fullInboxRetryMs: 1 } });
    publisher = await register();
  });
  after(() => api.close());

  const register = () =>
    api.registerAgent({ message: { issuedAt: clock.now() } }).then((a) => new Correspondent(api, a));
  const handOut = async () => {
    while (await api.container.features.messages.fanOut.step());
  };
  const publishMany = async (topic: string, texts: readonly string[]) => {
    for (const text of texts) await publisher.publish(topic, text);
  };

  describe("happy", () => {
    it("[S4.r28.1] [S4.r30] [S2.7.06] a subscriber gets what is sent after it has subscribed, in order, and others nothing", async () => {
      const topic = newTopic();
      const [subscriber, other] = [await register(), await register()];
      await publisher.publish(topic, "too early");
      const subscription = await subscriber.subscribe(topic);
      assert.deepEqual([subscription.topic, subscription.deliveredSeq, subscription.missed], [topic, 1, 0]);
      await publishMany(topic, upTo(5));
      await handOut();
      assert.deepEqual(await subscriber.bodies(`?topic=${topic}`), upTo(5));
      assert.deepEqual(
        (await subscriber.list()).data.map(({ topicSeq }) => topicSeq as number),
        [6, 5, 4, 3, 2],
      );
      assert.deepEqual(
        (await subscriber.events()).map(({ payload }) => [payload.topic, payload.topicSeq, payload.body] as unknown),
        upTo(5).map((text, index) => [topic, index + 2, text]),
      );
      assert.deepEqual(
        [await other.bodies(), await publisher.bodies("?box=sent&limit=100")].map((l) => l.length),
        [0, 6],
      );
    });

    it("[S4.r30.1] after unsubscribing, by query or body, nothing more arrives; what has arrived stays", async () => {
      for (const [query, body] of [
        ["?topic=", undefined],
        ["", {}],
      ] as const) {
        const topic = newTopic();
        const subscriber = await register();
        await subscriber.subscribe(topic);
        await publisher.publish(topic, "m1");
        await handOut();
        const path = query === "" ? SUBSCRIBE : `${SUBSCRIBE}${query}${topic}`;
        const end = () => subscriber.call("DELETE", path, body && { topic });
        assert.deepEqual((await end()).body.data, { topic, unsubscribed: true });
        assert.deepEqual((await end()).body.data, { topic, unsubscribed: false });
        await publisher.publish(topic, "m2");
        await handOut();
        assert.deepEqual(await subscriber.bodies(), ["m1"]);
      }
    });

    it("a publisher who is subscribed gets what others publish, not its own", async () => {
      const topic = newTopic();
      const both = await register();
      await both.subscribe(topic);
      await both.publish(topic, "mine");
      await publisher.publish(topic, "yours");
      await handOut();
      assert.deepEqual(await both.bodies(), ["yours"]);
    });

    it("each subscriber has a read mark of its own", async () => {
      const topic = newTopic();
      const [one, other] = [await register(), await register()];
      for (const subscriber of [one, other]) await subscriber.subscribe(topic);
      const { id } = await publisher.publish(topic, "m1");
      await handOut();
      await one.call("PATCH", `/api/v1/messages/${id}`, { read: true });
      assert.deepEqual([await one.bodies("?unread=true"), await other.bodies("?unread=true")], [[], ["m1"]]);
    });

    it("subscriptions are listed with pages, and a repeat changes nothing", async () => {
      const subscriber = await register();
      const names = [newTopic(), newTopic(), newTopic()].sort();
      for (const name of [...names, ...names]) await subscriber.subscribe(name);
      const first = (await subscriber.call("GET", `${SUBSCRIBE.replace("subscribe", "subscriptions")}?limit=2`)).body;
      assert.deepEqual(
        first.data.map(({ topic }: any) => topic as string),
        names.slice(0, 2),
      );
      const path = `/api/v1/messages/subscriptions?limit=2&cursor=${first.nextCursor}`;
      const second = (await subscriber.call("GET", path)).body;
      assert.deepEqual([second.data.length, second.data[0].topic, second.nextCursor], [1, names[2], null]);
    });
  });

  describe("many at once", () => {
    it("[S6.45] concurrent publishers and workers: every subscriber gets every message once, in the order of the topic", async () => {
      const topic = newTopic();
      const subscribers = await Promise.all(Array.from({ length: 4 }, register));
      const publishers = await Promise.all(Array.from({ length: 4 }, register));
      for (const subscriber of subscribers) await subscriber.subscribe(topic);
      const sends = publishers.flatMap((sender, p) =>
        Array.from({ length: 10 }, (_, n) => sender.publish(topic, `${p}:${n}`)),
      );
      const workers = Promise.all([handOut(), handOut(), handOut()]);
      const sent = await Promise.all(sends);
      await workers;
      await handOut();
      const order = sent
        .sort((one, other) => one.topicSeq - other.topicSeq)
        .map(({ topicSeq, body }) => [topicSeq, body] as unknown);
      assert.deepEqual(
        sent.map(({ topicSeq }) => topicSeq as number),
        Array.from({ length: 40 }, (_, n) => n + 1),
      );
      for (const subscriber of subscribers) {
        const events = (await subscriber.events()).map(({ payload }) => [payload.topicSeq, payload.body] as unknown);
        assert.deepEqual(events, order);
        assert.strictEqual((await subscriber.bodies()).length, 40);
      }
    });

    it("more subscribers and messages than fit into a transaction all get theirs", async () => {
      const topic = newTopic();
      const { subscriptions, inboxes, inboxEntries } = api.container.features.messages.models;
      const agentIds = Array.from({ length: 230 }, (_, n) => `agt_${topic}_${n}`);
      await inboxes.insertMany(agentIds.map((_id) => ({ _id, unread: 0, length: 0, subscriptions: 1 })));
      await subscriptions.insertMany(
        agentIds.map((agentId) => ({
          _id: `${topic}:${agentId}`,
          topic,
          agentId,
          deliveredSeq: 0,
          isBlocked: false,
          missed: 0,
          createdAt: clock.now(),
        })),
      );
      await publishMany(topic, upTo(9));
      await handOut();
      assert.strictEqual(await inboxEntries.countDocuments({ topic }), 230 * 9);
      assert.strictEqual(await subscriptions.countDocuments({ topic, deliveredSeq: 9 }), 230);
      assert.strictEqual(await inboxes.countDocuments({ _id: { $in: agentIds }, unread: 9 }), 230);
    });

    it("subscriptions have a limit that requests at the same time can't pass", async () => {
      const subscriber = await register();
      const { inboxes } = api.container.features.messages.models;
      await inboxes.updateOne(
        { _id: subscriber.id },
        { unread: 0, length: 0, subscriptions: SUBSCRIPTIONS_MAX - 2 },
        { upsert: true },
      );
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => subscriber.call("POST", SUBSCRIBE, { topic: newTopic() })),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 409, 409, 409]);
      const refused = answers.find(({ status }) => status === 409);
      assert.ok(refused);
      assertError(refused, 409, "subscription_limit_reached");
    });

    it("a subscription that has ended gives its place back, once", async () => {
      const subscriber = await register();
      const { inboxes } = api.container.features.messages.models;
      const [first, second, third] = [newTopic(), newTopic(), newTopic()];
      await subscriber.subscribe(first);
      await inboxes.updateOne({ _id: subscriber.id }, { subscriptions: SUBSCRIPTIONS_MAX });
      const subscribe = (topic: string) => subscriber.call("POST", SUBSCRIBE, { topic });
      assertError(await subscribe(second), 409, "subscription_limit_reached");
      for (let time = 0; time < 2; time += 1) await subscriber.call("DELETE", `${SUBSCRIBE}?topic=${first}`);
      assert.strictEqual((await subscribe(second)).status, 200);
      assertError(await subscribe(third), 409, "subscription_limit_reached");
    });
  });

  describe("with a full inbox", () => {
    const fill = (agent: Correspondent, room: number) =>
      api.container.features.messages.models.inboxes.updateOne(
        { _id: agent.id },
        { unread: INBOX_LIMITS.unread - room },
      );

    it("[D28] a message waits for room and then arrives in order, and nobody else waits for it", async () => {
      const topic = newTopic();
      const [full, quick] = [await register(), await register()];
      for (const subscriber of [full, quick]) await subscriber.subscribe(topic);
      await fill(full, 2);
      await publishMany(topic, upTo(4));
      await api.container.features.messages.fanOut.step();
      assert.deepEqual([await full.bodies(), await quick.bodies()], [upTo(2), upTo(4)]);
      await fill(full, 1);
      await handOutUntil(async () => (await full.bodies()).length === 3);
      await fill(full, 100);
      await publisher.publish(topic, "m5");
      await handOutUntil(async () => (await full.bodies()).length === 5);
      assert.deepEqual([await full.bodies(), await quick.bodies()], [upTo(5), upTo(5)]);
    });

    it("[D28] what finds no room for 24 hours is skipped, and the subscription says how many those are", async () => {
      const topic = newTopic();
      const full = await register();
      await full.subscribe(topic);
      await fill(full, 0);
      await publishMany(topic, upTo(3));
      await api.container.features.messages.fanOut.step();
      clock.pass(TOPIC_PATIENCE_MS + 1_000);
      await publishMany(topic, ["m4"]);
      const { subscriptions } = api.container.features.messages.models;
      await handOutUntil(async () => (await subscriptions.findOne({ topic }).lean())?.missed === 3);
      await fill(full, 10);
      await handOutUntil(async () => (await full.bodies()).length === 1);
      assert.deepEqual(await full.bodies(), ["m4"]);
    });

    it("[D28] a publisher with a full inbox has missed only what others published", async () => {
      const topic = newTopic();
      const full = await register();
      await full.subscribe(topic);
      await publisher.publish(topic, "m1");
      await full.publish(topic, "my own");
      await publisher.publish(topic, "m2");
      await fill(full, 0);
      await api.container.features.messages.fanOut.step();
      clock.pass(TOPIC_PATIENCE_MS + 1_000);
      await publisher.publish(topic, "m3");
      const subscription = () => api.container.features.messages.models.subscriptions.findOne({ topic }).lean();
      await handOutUntil(async () => (await subscription())?.deliveredSeq === 3);
      assert.strictEqual((await subscription())?.missed, 2);
      // While an inbox is full its topic is due again at once, and handing out needn't end.
      await fill(full, 10);
      await handOutUntil(async () => (await full.bodies()).length === 1);
      assert.deepEqual(await full.bodies(), ["m3"]);
    });

    /** Steps until something is so; full inboxes are tried again after a millisecond. */
    async function handOutUntil(isSo: () => Promise<boolean>): Promise<void> {
      for (let tries = 0; !(await isSo()); tries += 1) {
        assert.isBelow(tries, 200);
        await api.container.features.messages.fanOut.step();
      }
    }
  });

  describe("error", () => {
    it("a name out of the rules is refused, and so is a DELETE without one or with two", async () => {
      for (const topic of ["", "News", "-a", "a b", "a".repeat(65)]) {
        assertInvalid(await publisher.call("POST", SUBSCRIBE, { topic }), "body.topic");
      }
      assertInvalid(await publisher.call("DELETE", SUBSCRIBE), "query.topic");
      assertInvalid(await publisher.call("DELETE", `${SUBSCRIBE}?topic=a`, { topic: "b" }), "body.topic");
    });
  });

  describe("security", () => {
    it("[D33] who isn't subscribed can't read a topic's message, not even a later subscriber", async () => {
      const topic = newTopic();
      const { id } = await publisher.publish(topic, "m1");
      const late = await register();
      await late.subscribe(topic);
      await handOut();
      assertError(await late.call("GET", `/api/v1/messages/${id}`), 404, "not_found");
    });
  });

  describe("after 90 days", () => {
    it("a message is gone from inboxes, counts and list; the log keeps its event without the content", async () => {
      const topic = newTopic();
      const subscriber = await register();
      await subscriber.subscribe(topic);
      await publisher.publish(topic, "a secret of the topic");
      await handOut();
      const { id } = await publisher.sent(subscriber, { body: "a secret of the sender" });
      clock.pass(89 * 86_400_000);
      const { expireMessages, models } = api.container.features.messages;
      await expireMessages(new AbortController().signal);
      assert.strictEqual((await subscriber.bodies()).length, 2);
      clock.pass(2 * 86_400_000);
      await expireMessages(new AbortController().signal);
      assert.deepEqual(await subscriber.bodies(), []);
      assertError(await publisher.call("GET", `/api/v1/messages/${id}`), 404, "not_found");
      assert.strictEqual((await models.inboxes.findById(subscriber.id).lean())?.unread, 0);
      const events = await subscriber.events();
      assert.deepEqual(
        events.map(({ payload }) => [payload.fromAgentId, "body" in payload] as unknown),
        [publisher.id, publisher.id].map((sender) => [sender, false]),
      );
      assert.notInclude(JSON.stringify(events), "secret");
    });
  });
});
