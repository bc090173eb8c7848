import { assert } from "chai";
import { Webhook } from "standardwebhooks";

import { WEBHOOK_DISABLED_AFTER_MS } from "../../../api/config/constants.ts";
import { withTransaction } from "../../../api/db/connection.ts";
import { createWebhookHealth } from "../../../api/features/webhooks/registrations/health.ts";
import { webhookModel } from "../../../api/features/webhooks/registrations/model.ts";
import { newId } from "../../../api/lib/ids.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/v1/webhooks";

describe("a registered webhook", () => {
  let api: TestApi;
  let agent: TestAgent;
  let receiver: TestReceiver;
  let status = 200;
  let webhookId: string;
  let url: string;

  before(async () => {
    api = await startTestApi({ timings: { outboxPollMs: 10 } });
    receiver = await startReceiver((_n, response) => {
      response.writeHead(status).end(`answer\u0000${"x".repeat(5_000)}`);
      return undefined;
    });
  });
  after(async () => {
    await api.close();
    await receiver.close();
  });
  beforeEach(async () => {
    status = 200;
    receiver.received.length = 0;
    agent = await api.registerAgent();
    url = `${receiver.url}/${agent.agentId}`;
    const body = { url, events: ["message.received", "webhook.disabled"], durable: true };
    const answer = await api.request("POST", PATH, { key: agent.apiKey, body });
    webhookId = answer.body.data.webhookId;
  });

  const get = async (path: string) => (await api.request("GET", path, { key: agent.apiKey })).body.data;
  const webhooks = () => webhookModel(api.container.connection);
  const failsSince = (msAgo: number) =>
    webhooks().updateOne({ _id: webhookId }, { $set: { failingSince: new Date(Date.now() - msAgo) } });
  async function announce(targets: { agentId: string; url: string }[] = []): Promise<void> {
    const { connection, features } = api.container;
    const recordId = newId("req", new Date());
    const announcement = {
      type: "message.received" as const,
      body: { event: "message.received", recordId },
      record: { recordId, transactionId: null, orderKey: null },
      incarnation: 0,
      recipients: [agent.agentId],
      targets,
      occurredAt: new Date(),
    };
    await withTransaction(connection, (session) => features.events.recorder.record([announcement], session));
    await features.webhooks.dispatcher.drain();
  }
  /** Waiting deliveries of the agents of other tests arrive, too. */
  const received = () => receiver.received.filter(({ path }) => path.endsWith(agent.agentId));
  const disabledEvents = () => get("/api/v1/events?type=webhook.disabled");

  describe("that answers", () => {
    it("[D38] gets Standard Webhooks headers that the official library verifies, and one v1 of each kind", async () => {
      await announce();
      const [post] = received();
      assert.ok(post !== undefined);
      const { standardSecret, secret } = await get(`${PATH}/secret`);
      const bytes = Buffer.from((standardSecret as string).slice(6), "base64").toString("hex");
      assert.strictEqual(`whsec_${bytes}`, secret);
      const headers = post.headers as Record<string, string>;
      assert.deepEqual(new Webhook(standardSecret).verify(post.rawBody, headers), post.body);
      assert.throws(() => new Webhook(standardSecret).verify(`${post.rawBody} `, headers));
      assert.strictEqual(headers["webhook-id"], headers["x-service-event-id"]);
      assert.match(headers["webhook-signature"] ?? "", /^v1,[A-Za-z0-9+/]{43}=$/);
      assert.match(headers["x-service-signature"] ?? "", /^t=\d+,v1=[0-9a-f]{64}$/);
      assert.strictEqual(headers["x-service-signature"]?.split(",")[0], `t=${headers["webhook-timestamp"] ?? ""}`);
    });

    it("[D38] has its latency and the first kilobyte of its answer in the delivery log, found by webhook", async () => {
      await announce();
      const [delivery] = await get(`${PATH}/deliveries?webhookId=${webhookId}&status=acknowledged`);
      assert.deepInclude(delivery, { webhookId, durable: true, url, event: "message.received" });
      const [attempt] = delivery.attempts;
      assert.strictEqual(attempt.answer, `answer\u0000${"x".repeat(1_024 - 7)}`);
      assert.isAtLeast(attempt.latencyMs, 0);
      assert.isEmpty(await get(`${PATH}/deliveries?webhookId=whk_other`));
    });

    it("isn't failing any more, however long it did", async () => {
      await failsSince(WEBHOOK_DISABLED_AFTER_MS);
      await announce();
      const { failingSince, status: state } = await get(`${PATH}/${webhookId}`);
      assert.deepEqual([failingSince, state], [null, "active"]);
    });
  });

  describe("that fails", () => {
    beforeEach(() => {
      status = 500;
    });

    it("stays active for five days from its first failure", async () => {
      await announce();
      const { failingSince, status: state } = await get(`${PATH}/${webhookId}`);
      assert.isString(failingSince);
      assert.strictEqual(state, "active");
      await failsSince(WEBHOOK_DISABLED_AFTER_MS - 60_000);
      await announce();
      assert.strictEqual((await get(`${PATH}/${webhookId}`)).status, "active");
      assert.isEmpty(await disabledEvents());
    });

    it("is disabled by a failure exactly five days after the first, and by none before", async () => {
      const { connection, features } = api.container;
      const first = new Date("2026-01-01T00:00:00Z");
      const reportAt = (msLater: number) =>
        createWebhookHealth({
          connection,
          webhooks: webhooks(),
          recorder: features.events.recorder,
          now: () => new Date(first.getTime() + msLater),
        }).report(agent.agentId, webhookId, false);
      const state = async () => (await get(`${PATH}/${webhookId}`)).status;
      await reportAt(0);
      await reportAt(WEBHOOK_DISABLED_AFTER_MS - 1);
      assert.strictEqual(await state(), "active");
      await reportAt(WEBHOOK_DISABLED_AFTER_MS);
      assert.strictEqual(await state(), "disabled");
    });

    it("is disabled after five days, and its owner finds that in the event log once", async () => {
      assert.strictEqual(WEBHOOK_DISABLED_AFTER_MS, 5 * 86_400_000);
      await failsSince(WEBHOOK_DISABLED_AFTER_MS);
      await announce();
      const { disabledAt, failingSince, status: state } = await get(`${PATH}/${webhookId}`);
      assert.strictEqual(state, "disabled");
      const events = await disabledEvents();
      assert.deepEqual(
        events.map(({ payload }: { payload: object }) => payload),
        [{ event: "webhook.disabled", webhookId, url, failingSince, disabledAt }],
      );
      const attempted = received().length;
      await announce();
      assert.strictEqual(received().length, attempted, "new events aren't sent to it");
      // What was waiting for its next attempt is given up.
      const dropped = await until("the waiting delivery is given up", async () => {
        await api.container.features.webhooks.dispatcher.drain();
        const [delivery] = await get(`${PATH}/deliveries?webhookId=${webhookId}`);
        return delivery.status === "dropped" && delivery;
      });
      assert.strictEqual(dropped.attempts.at(-1).error, "the webhook is disabled");
      assert.strictEqual(received().length, attempted);
    });

    it("still gets what a listing sends to the same address, though it is disabled", async () => {
      await failsSince(WEBHOOK_DISABLED_AFTER_MS);
      await announce([{ agentId: agent.agentId, url }]);
      assert.strictEqual((await get(`${PATH}/${webhookId}`)).status, "disabled");
      const attempted = received().length;
      status = 200;
      const delivery = await until("the waiting delivery has ended", async () => {
        await api.container.features.webhooks.dispatcher.drain();
        const [found] = await get(`${PATH}/deliveries?webhookId=${webhookId}`);
        return found.status !== "pending" && found;
      });
      assert.strictEqual(delivery.status, "acknowledged");
      assert.strictEqual(received().length, attempted + 1);
      assert.strictEqual((await get(`${PATH}/${webhookId}`)).status, "disabled");
    });

    it("works again once its owner enables it", async () => {
      await failsSince(WEBHOOK_DISABLED_AFTER_MS);
      await announce();
      const body = { status: "active" };
      const enabled = await api.request("PATCH", `${PATH}/${webhookId}`, { key: agent.apiKey, body });
      assert.deepInclude(enabled.body.data, { status: "active", failingSince: null, disabledAt: null });
      status = 200;
      receiver.received.length = 0;
      await announce();
      assert.isAtLeast(received().length, 1);
    });
  });
});
