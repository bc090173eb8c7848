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
});
