// The client's methods for registered webhooks and their deliveries, against the service.
import { assert } from "chai";

import { ApiError, collect, Marketplace } from "../../../sdk/src/index.ts";
import type { Agent } from "../../../sdk/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { announce } from "../../fixtures/event-stream.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { until } from "../../fixtures/until.ts";

describe("the client's webhooks", () => {
  let api: TestApi;
  let receiver: TestReceiver;
  let agentId: string;
  let webhooks: Agent["webhooks"];

  before(async () => {
    api = await startTestApi();
    receiver = await startReceiver();
    const registered = await api.registerAgent();
    agentId = registered.agentId;
    ({ webhooks } = new Marketplace({ url: api.url }).agent({ apiKey: registered.apiKey }));
  });
  after(async () => {
    await api.close();
    await receiver.close();
  });

  it("[S4.r24] are registered, listed, read, changed and removed", async () => {
    const url = `${receiver.url}/one`;
    const first = await webhooks.register({ url, events: ["escrow.funded"] });
    const second = await webhooks.register({ url, events: ["escrow.released"], durable: true });
    assert.deepEqual(await collect(webhooks.list()), [second, first]);
    assert.deepEqual(await webhooks.get(first.webhookId), first);
    const changed = await webhooks.update(first.webhookId, { events: ["dispute.created"], durable: true });
    assert.deepEqual([changed.events, changed.durable], [["dispute.created"], true]);
    assert.deepEqual(await webhooks.remove(first.webhookId), changed);
    assert.strictEqual((await rejectionOf(webhooks.get(first.webhookId), ApiError)).code, "not_found");
    assert.deepEqual(await webhooks.remove(second.webhookId), second);
  });

  it("[D38] have deliveries that are read and sent again", async () => {
    const { webhookId } = await webhooks.register({ url: `${receiver.url}/two`, events: ["message.received"] });
    await announce(api.container, "one", [agentId], { type: "message.received" });
    await api.container.features.webhooks.dispatcher.drain();
    const [delivery] = await collect(webhooks.deliveries({ webhookId, status: "acknowledged" }));
    assert.ok(delivery !== undefined);
    assert.deepEqual(await webhooks.delivery(delivery.deliveryId), delivery);
    const again = await webhooks.redeliver(delivery.deliveryId);
    assert.deepEqual([again.redeliveryOf, again.eventId], [delivery.deliveryId, delivery.eventId]);
    assert.strictEqual((await collect(webhooks.deliveries({ webhookId }))).length, 2);
    await webhooks.remove(webhookId);
    const refused = await rejectionOf(webhooks.redeliver(delivery.deliveryId), ApiError);
    assert.strictEqual(refused.code, "webhook_not_active");
  });

  it("[D38] are tried with a ping, and get again what they have missed", async () => {
    const { webhookId } = await webhooks.register({ url: "http://127.0.0.1:1/", events: ["message.received"] });
    const since = new Date(Date.now() - 60_000);
    await announce(api.container, "two", [agentId], { type: "message.received" });
    const { dispatcher } = api.container.features.webhooks;
    await until("the event is given up", async () => {
      await dispatcher.drain();
      return (await collect(webhooks.deliveries({ webhookId, status: "failed" }))).length === 1;
    });
    assert.strictEqual(await webhooks.redeliverMissed(webhookId, since), 1);
    await webhooks.update(webhookId, { url: `${receiver.url}/three` });
    const ping = await webhooks.ping(webhookId);
    assert.deepInclude(ping, { webhookId, kind: "ping", event: "webhook.ping", status: "pending" });
    await dispatcher.drain();
    assert.strictEqual((await webhooks.delivery(ping.deliveryId)).status, "acknowledged");
  });
});
