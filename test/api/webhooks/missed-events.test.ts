// Registered webhooks that are tried with a ping, and get again what they have missed.
import { assert } from "chai";

import { OUTBOX_DEFAULTS } from "../../../api/features/outbox/outbox.ts";
import { DISPATCHES_AT_MOST } from "../../../api/features/webhooks/dispatches/missed-events.ts";
import { newId } from "../../../api/lib/ids.ts";
import { verifyWebhook } from "../../../sdk/src/index.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { announce } from "../../fixtures/event-stream.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/v1/webhooks";
const LONG_AGO = "2020-01-01T00:00:00.000Z";

describe("a registered webhook", () => {
  let api: TestApi;
  let agent: TestAgent;
  let stranger: TestAgent;
  let receiver: TestReceiver;
  let status = 200;
  let webhookId: string;

  before(async () => {
    api = await startTestApi({ timings: { outbox: { ...OUTBOX_DEFAULTS, retryDelayMs: 1, backupDelayMs: 1 } } });
    receiver = await startReceiver(() => status);
    stranger = await api.registerAgent();
  });
  after(async () => {
    await api.close();
    await receiver.close();
  });
  beforeEach(async () => {
    status = 200;
    agent = await api.registerAgent();
    const url = `${receiver.url}/${agent.agentId}`;
    const registered = await send("POST", PATH, { url, events: ["message.received", "escrow.funded"] });
    webhookId = registered.body.data.webhookId;
  });

  const send = (method: string, path: string, body?: object, options: object = {}): Promise<Answer> =>
    api.request(method, path, { key: agent.apiKey, ...(body === undefined ? {} : { body }), ...options });
  const ping = (options: object = {}) => send("POST", `${PATH}/${webhookId}/ping`, {}, options);
  const sendMissed = (since: string = LONG_AGO, options: object = {}) =>
    send("POST", `${PATH}/${webhookId}/redeliver-missed`, { since }, options);
  const queued = async (since?: string): Promise<number> => (await sendMissed(since)).body.data.queued;
  const deliveries = async (query = "") =>
    (await send("GET", `${PATH}/deliveries?webhookId=${webhookId}&limit=100${query}`)).body.data;
  /** Names of the events that the webhook got. */
  const received = () =>
    receiver.received.filter(({ path }) => path.endsWith(agent.agentId)).map(({ body }) => body.name as string);
  const disable = () =>
    api.container.connection
      .collection("webhooks")
      .updateOne({ _id: webhookId as never }, { $set: { status: "disabled" } });

  /** Sends until nothing waits any more. */
  const settled = () =>
    until("nothing waits", async () => {
      await api.container.features.webhooks.dispatcher.drain();
      return (await deliveries("&status=pending")).length === 0;
    });
  async function announceAll(names: readonly string[], type: "message.received" | "escrow.funded"): Promise<void> {
    for (const name of names) await announce(api.container, name, [agent.agentId], { type });
    await settled();
  }
  /** Announces events while the receiver fails. */
  async function missed(names: readonly string[], type: "message.received" | "escrow.funded" = "message.received") {
    status = 500;
    await announceAll(names, type);
    status = 200;
    receiver.received.length = 0;
  }

  describe("is tried with a ping", () => {
    it("[S6.26] [D38] that is signed, reads like an event and is in the delivery log alone", async () => {
      const answer = await ping();
      assert.strictEqual(answer.status, 202, answer.text);
      const { deliveryId, eventId } = answer.body.data;
      const expected = { kind: "ping", event: "webhook.ping", webhookId, transactionId: null, status: "pending" };
      assert.deepInclude(answer.body.data, expected);
      await settled();
      const [delivery] = await deliveries();
      assert.deepEqual([delivery.deliveryId, delivery.status], [deliveryId, "acknowledged"]);
      const post = receiver.received.at(-1);
      assert.ok(post !== undefined);
      assert.deepEqual([post.body.event, post.body.webhookId], ["webhook.ping", webhookId]);
      assert.strictEqual(post.headers["x-service-event-id"], eventId);
      const { secret } = (await send("GET", `${PATH}/secret`)).body.data;
      const signature = post.headers["x-service-signature"] as string;
      assert.deepEqual(await verifyWebhook({ rawBody: post.rawBody, signature, secret }), post.body);
      assert.deepEqual((await send("GET", "/api/v1/events")).body.data, []);
    });

    it("[S6.37] with one retry, and its outcome counts for the webhook's health", async () => {
      status = 500;
      await ping();
      await settled();
      const [{ attempts, status: ended }] = await deliveries();
      assert.deepEqual([attempts.length, ended], [2, "failed"]);
      assert.notStrictEqual((await send("GET", `${PATH}/${webhookId}`)).body.data.failingSince, null);
      status = 200;
      await ping();
      await settled();
      assert.strictEqual((await send("GET", `${PATH}/${webhookId}`)).body.data.failingSince, null);
    });

    it("[D43] once if the request is repeated, even after its process died", async () => {
      const repeat = () => ping({ headers: { "idempotency-key": "one" } });
      assert.strictEqual((await repeat()).body.data.deliveryId, (await repeat()).body.data.deliveryId);
      const { redeliveries } = api.container.features.webhooks.services;
      const _id = newId("dlv", new Date());
      const again = (isRepeat: boolean) =>
        redeliveries.ping(agent.agentId, webhookId, { isRepeat, isRepeatable: true, newId: () => _id });
      await Promise.all([again(false), again(true), again(true)]);
      assert.strictEqual((await deliveries()).length, 2);
    });

    it("[D33] unless it is disabled, removed or another agent's", async () => {
      assertError(await ping({ key: stranger.apiKey }), 404, "not_found");
      await disable();
      assertError(await ping(), 409, "webhook_not_active");
      await send("DELETE", `${PATH}/${webhookId}`, {});
      assertError(await ping(), 404, "not_found");
      assert.deepEqual(
        receiver.received.filter(({ path }) => path.endsWith(agent.agentId)),
        [],
      );
    });
  });

  describe("gets again what it has missed", () => {
    it("[D38] each event once, oldest first, and nothing that arrived", async () => {
      await announceAll(["seen"], "message.received");
      await missed(["a", "b", "c"]);
      const answer = await sendMissed();
      assert.deepEqual([answer.status, answer.body.data], [200, { queued: 3, next: null }]);
      const again = (await deliveries("&status=pending")) as { kind: string; durable: boolean }[];
      assert.deepEqual(
        again.map(({ kind }) => kind),
        ["redelivery", "redelivery", "redelivery"],
      );
      await settled();
      assert.deepEqual(received().toSorted(), ["a", "b", "c"]);
      assert.strictEqual(await queued(), 0);
    });

    it("[S6.39] once where an attempt and its backup have both failed, and not at all if the backup arrived", async () => {
      await missed(["both"], "escrow.funded");
      assert.strictEqual((await deliveries("&status=failed")).length, 2);
      assert.strictEqual(await queued(), 1);
      await settled();
      assert.deepEqual(received(), ["both"]);
    });

    it("only from the given time on", async () => {
      await missed(["early"]);
      const [{ createdAt }] = await deliveries();
      const later = new Date(Date.parse(createdAt) + 1).toISOString();
      assert.strictEqual(await queued(later), 0);
      assert.strictEqual(await queued(createdAt), 1);
    });

    it("again after another failure, and none twice while it waits or from calls at the same time", async () => {
      await missed(["a", "b"]);
      const answers = await Promise.all(Array.from({ length: 4 }, () => queued()));
      assert.strictEqual(
        answers.reduce((sum, count) => sum + count),
        2,
      );
      assert.strictEqual(await queued(), 0, "they wait");
      status = 500;
      await settled();
      status = 200;
      receiver.received.length = 0;
      assert.strictEqual(await queued(), 2);
      await settled();
      assert.deepEqual(received().toSorted(), ["a", "b"]);
    });

    it("even what was dropped, at its current address, but no ping", async () => {
      await send("PATCH", `${PATH}/${webhookId}`, { url: "http://10.0.0.1/" });
      await announceAll(["dropped"], "message.received");
      await ping();
      await settled();
      assert.strictEqual((await deliveries("&status=dropped")).length, 2);
      await send("PATCH", `${PATH}/${webhookId}`, { url: `${receiver.url}/${agent.agentId}` });
      receiver.received.length = 0;
      assert.strictEqual(await queued(), 1);
      await settled();
      assert.deepEqual(received(), ["dropped"]);
    });

    it("until ten deliveries of an event have failed", async () => {
      await missed(["never"]);
      status = 500;
      const counts: number[] = [];
      for (let call = 0; call < DISPATCHES_AT_MOST; call += 1) {
        counts.push(await queued());
        await settled();
      }
      assert.deepEqual(counts, [...Array<number>(DISPATCHES_AT_MOST - 1).fill(1), 0]);
      assert.strictEqual((await deliveries("&status=failed")).length, DISPATCHES_AT_MOST);
    });

    it("a thousand a call, and the rest with the next calls", async () => {
      await missed(["model"]);
      const { dispatches } = api.container.features.outbox.models;
      const [model] = await dispatches.find({ webhookId }).lean();
      const base = Date.now() - 3_600_000;
      const at = (n: number) => new Date(base + n);
      const more = Array.from({ length: 1_150 }, (_, n) => ({
        ...model,
        _id: `dlv_more_${agent.agentId}_${n}`,
        eventId: `evt_more_${agent.agentId}_${n}`,
        createdAt: at(n),
      }));
      // One has arrived since: it is read, and not queued.
      const arrived = {
        ...more[7],
        _id: `dlv_again_${agent.agentId}`,
        kind: "redelivery",
        status: "acknowledged",
      };
      await dispatches.collection.insertMany([...more, arrived] as never[]);
      const first = (await sendMissed()).body.data;
      assert.deepEqual(first, { queued: 1_000, next: at(1_000).toISOString() });
      const second = (await sendMissed(first.next)).body.data;
      assert.deepEqual(second, { queued: 150, next: null });
      await dispatches.deleteMany({ webhookId });
    });

    it("[D33] unless it is disabled, removed or another agent's", async () => {
      await missed(["a"]);
      assertError(await sendMissed(LONG_AGO, { key: stranger.apiKey }), 404, "not_found");
      await disable();
      const disabled = await sendMissed();
      assertError(disabled, 409, "webhook_not_active");
      assert.deepEqual(disabled.body.details, { webhookId, reason: "the webhook is disabled" });
      await send("DELETE", `${PATH}/${webhookId}`, {});
      assertError(await sendMissed(), 404, "not_found");
      assert.strictEqual((await deliveries("&status=failed")).length, 1);
    });
  });
});
