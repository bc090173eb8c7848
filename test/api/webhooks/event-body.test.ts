import { assert } from "chai";

import { createIndexes, withTransaction } from "../../../api/db/connection.ts";
import { logEntryId } from "../../../api/features/events/event-id.ts";
import { EventLog } from "../../../api/features/events/log.ts";
import { eventModels } from "../../../api/features/events/model.ts";
import type { EventModels } from "../../../api/features/events/model.ts";
import { OUTBOX_DEFAULTS } from "../../../api/features/outbox/outbox.ts";
import { createOutboxWriter, buildDispatches } from "../../../api/features/outbox/enqueue.ts";
import { createWebhookSend } from "../../../api/features/webhooks/dispatches/attempt.ts";
import { webhookSecretModel } from "../../../api/features/webhooks/secrets/model.ts";
import { createWebhookSecrets } from "../../../api/features/webhooks/secrets/service.ts";
import type { OutgoingWebhook } from "../../../api/features/webhooks/dispatches/sender.ts";
import { ACKNOWLEDGED, targetOf, TestOutbox } from "../../fixtures/outbox.ts";

const AGENT = "agt_seller";
const EVENT = "evt_0123456789abcdef";
const BODY = '{"event":"escrow.released","text":"é"}';

describe("the body of an event's delivery", () => {
  let outbox: TestOutbox;
  let models: EventModels;

  before(async () => {
    outbox = await TestOutbox.open();
    models = eventModels(outbox.connection);
    webhookSecretModel(outbox.connection);
    await createIndexes(outbox.connection);
  });
  after(() => outbox.close());

  it("is read from the event log, and a delivery waits for an event that isn't to be seen there yet", async () => {
    const sent: OutgoingWebhook[] = [];
    const now = () => new Date();
    const send = createWebhookSend({
      sender: {
        send(webhook) {
          sent.push(webhook);
          return Promise.resolve(ACKNOWLEDGED);
        },
      },
      secrets: createWebhookSecrets(webhookSecretModel(outbox.connection), ["master"], now),
      health: {
        readAddress: () => Promise.reject(new Error("not registered")),
        report: () => Promise.reject(new Error("not registered")),
      },
      eventLog: new EventLog(models.events, models.lengths),
      now,
    });
    const dispatcher = outbox.dispatcher(send);
    const event = { eventId: EVENT, eventType: "escrow.released", transactionId: null, orderKey: null, seq: 1 };
    const dispatches = buildDispatches({ ...event, bodyJson: null }, [targetOf(AGENT)], now());
    const [{ _id: dispatchId } = { _id: "" }] = dispatches;
    const writer = createOutboxWriter(outbox.models);
    await withTransaction(outbox.connection, (session) => writer.enqueue(dispatches, session));

    await dispatcher.drain();
    assert.deepEqual(sent, []);
    assert.strictEqual((await outbox.read(dispatchId)).status, "pending");

    const own = { eventId: EVENT, seq: 1, type: "escrow.released" as const, occurredAt: now(), createdAt: now() };
    await models.events.create([
      { ...own, _id: logEntryId(EVENT, AGENT), agentId: AGENT, bodyJson: BODY },
      { ...own, _id: logEntryId(EVENT, "agt_other"), agentId: "agt_other", bodyJson: "{}" },
    ]);
    await outbox.age(OUTBOX_DEFAULTS.leaseMs);
    await dispatcher.drain();
    assert.deepEqual(
      sent.map(({ eventId, bodyJson }) => [eventId, bodyJson]),
      [[EVENT, BODY]],
    );
    const { status, attempts } = await outbox.read(dispatchId);
    assert.strictEqual(status, "acknowledged");
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ["interrupted", "acknowledged"],
    );
  });
});
