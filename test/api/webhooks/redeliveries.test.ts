import { assert } from "chai";

import { OUTBOX_DEFAULTS } from "../../../api/features/outbox/outbox.ts";
import { newId } from "../../../api/lib/ids.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { announce } from "../../fixtures/event-stream.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/v1/webhooks";
const DELIVERIES = `${PATH}/deliveries`;

describe("deliveries of webhooks", () => {
  let api: TestApi;
  let agent: TestAgent;
  let stranger: TestAgent;
  let receiver: TestReceiver;
  let status = 200;
  let webhookId: string;

  before(async () => {
    api = await startTestApi({ timings: { outbox: { ...OUTBOX_DEFAULTS, retryDelayMs: 1 } } });
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
    webhookId = await register({});
  });

  const send = (method: string, path: string, options: object = {}) =>
    api.request(method, path, { key: agent.apiKey, ...(method === "POST" ? { body: {} } : {}), ...options });
  const urlOf = (end: string) => `${receiver.url}/${agent.agentId}${end}`;
  async function register(fields: object): Promise<string> {
    const body = { url: urlOf(""), events: ["message.received"], ...fields };
    return (await send("POST", PATH, { body })).body.data.webhookId;
  }
  const listed = async (query: string) => (await send("GET", `${DELIVERIES}?${query}`)).body.data;
  const drain = () => api.container.features.webhooks.dispatcher.drain();
  const redeliver = (deliveryId: string, options: object = {}): Promise<Answer> =>
    send("POST", `${DELIVERIES}/${deliveryId}/redeliver`, options);
  /** Waiting deliveries of the agents of other tests arrive, too. */
  const received = (end = "") => receiver.received.filter(({ path }) => path.endsWith(`${agent.agentId}${end}`));

  /** Sends until a delivery isn't pending any more. */
  const ended = (deliveryId: string) =>
    until(`${deliveryId} ends`, async () => {
      await drain();
      const { data } = (await send("GET", `${DELIVERIES}/${deliveryId}`)).body;
      return data.status !== "pending" && data;
    });
  /** Sends an event to the webhook and returns the id of its delivery. */
  async function delivered(): Promise<string> {
    await announce(api.container, "one", [agent.agentId], { type: "message.received" });
    const [{ deliveryId }] = await listed(`webhookId=${webhookId}`);
    await ended(deliveryId);
    return deliveryId;
  }
  const failed = async (): Promise<string> => {
    status = 500;
    const deliveryId = await delivered();
    status = 200;
    return deliveryId;
  };

  it("[D38] are read one by one, as the list shows them", async () => {
    const deliveryId = await delivered();
    const answer = await send("GET", `${DELIVERIES}/${deliveryId}`);
    assert.strictEqual(answer.status, 200, answer.text);
    assert.deepEqual([answer.body.data], await listed(""));
    assert.deepInclude(answer.body.data, { deliveryId, webhookId, kind: "immediate", redeliveryOf: null });
  });

  it("[D33] [D38] of another agent, or of nobody, don't exist", async () => {
    const deliveryId = await delivered();
    const other = { key: stranger.apiKey };
    assertError(await send("GET", `${DELIVERIES}/${deliveryId}`, other), 404, "not_found");
    assertError(await redeliver(deliveryId, other), 404, "not_found");
    assertError(await send("GET", `${DELIVERIES}/dlv_${"0".repeat(32)}`), 404, "not_found");
    assertError(await redeliver(`dlv_${"0".repeat(32)}`), 404, "not_found");
    assert.strictEqual((await listed("")).length, 1);
  });

  it("are stored without the body of their event, which only the log has", async () => {
    await announce(api.container, "large", [agent.agentId], {
      type: "message.received",
      payload: { text: "x".repeat(50_000) },
    });
    const [{ deliveryId }] = await listed(`webhookId=${webhookId}`);
    await ended(deliveryId);
    await ended((await redeliver(deliveryId)).body.data.deliveryId);
    const { agentId } = agent;
    const { events, outbox } = api.container.features;
    const stored = await outbox.models.dispatches.find({ agentId }).lean();
    assert.deepEqual(
      stored.map(({ bodyJson }) => bodyJson),
      [null, null],
    );
    const [event] = await events.models.events.find({ agentId }).lean();
    assert.isAtLeast(event?.bodyJson.length ?? 0, 50_000);
    assert.deepEqual(
      received().map(({ rawBody }) => rawBody),
      [event?.bodyJson, event?.bodyJson],
    );
  });

  it("have pages of about 1 MB, however many attempts they had, and each delivery once", async () => {
    const original = await delivered();
    const { dispatches } = api.container.features.outbox.models;
    const template = await dispatches.findById(original).lean().orFail();
    const [attempt] = template.attempts;
    assert.ok(attempt !== undefined);
    const attempts = Array.from({ length: 100 }, () => ({ ...attempt, answer: "x".repeat(1_000) }));
    const made = Array.from({ length: 20 }, (_, n) => ({
      ...template,
      _id: `dlv_large_${agent.agentId}_${n}`,
      attempts,
      createdAt: new Date(template.createdAt.getTime() + 1 + n),
    }));
    await dispatches.insertMany(made);
    const ids = [original, ...made.map(({ _id }) => _id)].reverse();
    const pages: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page = await send("GET", `${DELIVERIES}?limit=100${cursor === "" ? "" : `&cursor=${cursor}`}`);
      assert.strictEqual(page.status, 200, page.text.slice(0, 1_000));
      pages.push(page.body.data.map(({ deliveryId }: { deliveryId: string }) => deliveryId));
      cursor = page.body.nextCursor;
    }
    assert.deepEqual(pages.flat(), ids);
    // Twenty of them have 2 MB.
    assert.isAtMost(Math.max(...pages.map(({ length }) => length)), 11);
  });

  describe("are sent again", () => {
    it("[D38] with the same event id and body, as deliveries of their own", async () => {
      const original = await failed();
      const attempts = received().length;
      const answer = await redeliver(original);
      assert.strictEqual(answer.status, 202, answer.text);
      const { deliveryId, ...data } = answer.body.data;
      const { eventId } = (await send("GET", `${DELIVERIES}/${original}`)).body.data;
      assert.deepInclude(data, {
        kind: "redelivery",
        redeliveryOf: original,
        eventId,
        status: "pending",
        attempts: [],
      });
      assert.strictEqual((await ended(deliveryId)).status, "acknowledged");
      const posts = received();
      assert.strictEqual(posts.length, attempts + 1);
      assert.strictEqual(new Set(posts.map(({ rawBody }) => rawBody)).size, 1);
      assert.deepEqual([...new Set(posts.map(({ headers }) => headers["webhook-id"]))], [eventId]);
      assert.strictEqual((await send("GET", `${DELIVERIES}/${original}`)).body.data.status, "failed");
    });

    it("to their webhook's current address", async () => {
      const original = await failed();
      await send("PATCH", `${PATH}/${webhookId}`, { body: { url: urlOf("/moved") } });
      const { deliveryId, url } = (await redeliver(original)).body.data;
      await ended(deliveryId);
      assert.strictEqual(url, urlOf("/moved"));
      assert.strictEqual(received("/moved").length, 1);
    });

    it("[S6.37] with one retry, for a durable webhook as well, and out of its order", async () => {
      await send("PATCH", `${PATH}/${webhookId}`, { body: { durable: true } });
      const original = await delivered();
      status = 500;
      const { deliveryId, durable } = (await redeliver(original)).body.data;
      const redelivery = await ended(deliveryId);
      assert.deepEqual([durable, redelivery.status, redelivery.attempts.length], [false, "failed", 2]);
    });

    it("[D43] once if the request is repeated with the same Idempotency-Key", async () => {
      const original = await delivered();
      const again = () => redeliver(original, { headers: { "idempotency-key": "again" } });
      const [first, second] = [await again(), await again()];
      assert.deepEqual(second.body, first.body);
      assert.strictEqual((await listed("")).length, 2);
      await redeliver(original, { headers: { "idempotency-key": "once more" } });
      assert.strictEqual((await listed("")).length, 3);
    });

    it("[D43] once if the process died before it answered, or two repeats arrive at once", async () => {
      const original = await delivered();
      const { redeliveries } = api.container.features.webhooks.services;
      const _id = newId("dlv", new Date());
      const repeat = (isRepeat: boolean) =>
        redeliveries.redeliver(agent.agentId, original, { isRepeat, isRepeatable: true, newId: () => _id });
      const sent = await Promise.all([repeat(false), repeat(true), repeat(true)]);
      await send("DELETE", `${PATH}/${webhookId}`);
      sent.push(await repeat(true));
      assert.deepEqual([...new Set(sent.map((dispatch) => dispatch._id))], [_id]);
      assert.strictEqual((await listed("")).length, 2);
    });

    it("unless their webhook is disabled or removed", async () => {
      const original = await delivered();
      const webhooks = api.container.connection.collection("webhooks");
      await webhooks.updateOne({ _id: webhookId as never }, { $set: { status: "disabled" } });
      const disabled = await redeliver(original);
      assertError(disabled, 409, "webhook_not_active");
      assert.deepEqual(disabled.body.details, { webhookId, reason: "the webhook is disabled" });
      await send("DELETE", `${PATH}/${webhookId}`);
      const removed = await redeliver(original);
      assertError(removed, 409, "webhook_not_active");
      assert.deepEqual(removed.body.details, { webhookId, reason: "the webhook was removed" });
      assert.strictEqual((await listed("")).length, 1);
    });
  });
});
