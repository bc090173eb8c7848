import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { FUNDED_BACKUP_DELAY_MS, WEBHOOK_RETRIES } from "../../../api/config/constants.ts";
import { connectDatabase, createIndexes, withTransaction } from "../../../api/db/connection.ts";
import { createWebhookDispatcher } from "../../../api/features/webhooks/dispatcher.ts";
import { deliveriesOf, deliveryId, enqueueDeliveries } from "../../../api/features/webhooks/enqueue.ts";
import { deliveryModel, webhookSecretModel } from "../../../api/features/webhooks/model.ts";
import type { DeliveryModel } from "../../../api/features/webhooks/model.ts";
import { createOutbox, OUTBOX_DEFAULTS } from "../../../api/features/webhooks/outbox.ts";
import { createWebhookSecrets, ROTATION_GRACE_MS } from "../../../api/features/webhooks/secrets.ts";
import type { WebhookSecrets } from "../../../api/features/webhooks/secrets.ts";
import type { OutgoingWebhook, SendResult, WebhookSender } from "../../../api/features/webhooks/sender.ts";
import { ApiError } from "../../../api/http/errors.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { until } from "../../fixtures/until.ts";

const log = createLogger({ level: "silent", name: "test" });
const TARGET = { agentId: "agt_seller", url: "http://seller.example/hook" };

const acknowledged: SendResult = { outcome: "acknowledged", statusCode: 200, error: null };
const refused: SendResult = { outcome: "refused", statusCode: 500, error: "the receiver answered 500" };
const unreachable: SendResult = { outcome: "unreachable", statusCode: null, error: "no" };
const dropped: SendResult = { outcome: "dropped", statusCode: null, error: "private" };

/** A receiver's side that answers in the given order, the last answer again and again. */
function scripted(...results: SendResult[]): WebhookSender & { sent: OutgoingWebhook[] } {
  const sent: OutgoingWebhook[] = [];
  return {
    sent,
    send(webhook) {
      sent.push(webhook);
      return Promise.resolve(results[Math.min(sent.length, results.length) - 1] ?? acknowledged);
    },
  };
}

describe("the outbox of webhooks", () => {
  let connection: Connection;
  let model: DeliveryModel;
  let secrets: WebhookSecrets;
  let clock = new Date();
  const now = () => clock;
  const passMs = (ms: number) => {
    clock = new Date(clock.getTime() + ms);
  };

  before(async () => {
    const { mongodbUri } = await readStack();
    connection = await connectDatabase(mongodbUri, log, `test_outbox_${randomBytes(6).toString("hex")}`);
    model = deliveryModel(connection);
    secrets = createWebhookSecrets(webhookSecretModel(connection), ["master-zero", "master-one"], now);
    await createIndexes(connection);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });
  beforeEach(async () => {
    clock = new Date();
    await model.deleteMany({});
  });

  const outbox = () => createOutbox(model, OUTBOX_DEFAULTS, now);
  const dispatcher = (sender: WebhookSender, owner = "worker-1") =>
    createWebhookDispatcher({
      ...{ outbox: outbox(), sender, secrets, log, now, owner },
      ...{ pollMs: 10, concurrency: 8, concurrencyPerAgent: 4 },
    });
  const enqueue = async (eventType: string, eventId = `evt_${randomBytes(4).toString("hex")}`, target = TARGET) => {
    const event = { eventId, eventType, transactionId: "txn_1", bodyJson: JSON.stringify({ event: eventType }) };
    await withTransaction(connection, (session) =>
      enqueueDeliveries(model, deliveriesOf(event, [target], clock), session),
    );
    return deliveryId(eventId, target, "immediate");
  };
  const read = async (id: string) => {
    const record = await model.findById(id).lean();
    assert.ok(record !== null);
    return record;
  };

  it("[S6.38] sends an acknowledged webhook once", async () => {
    const sender = scripted(acknowledged);
    const id = await enqueue("escrow.released");
    await dispatcher(sender).drain();
    passMs(3_600_000);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 1);
    assert.strictEqual((await read(id)).status, "acknowledged");
  });

  it("[S6.37] retries a non-2xx answer once and no more", async () => {
    assert.strictEqual(WEBHOOK_RETRIES, 1);
    const sender = scripted(refused);
    const id = await enqueue("escrow.released");
    for (let round = 0; round < 5; round += 1) {
      await dispatcher(sender).drain();
      passMs(60_000);
    }
    assert.strictEqual(sender.sent.length, 2);
    const record = await read(id);
    assert.strictEqual(record.status, "failed");
    assert.deepEqual(
      record.attempts.map(({ outcome, statusCode }) => [outcome, statusCode]),
      [
        ["refused", 500],
        ["refused", 500],
      ],
    );
    assert.strictEqual(sender.sent[0]?.eventId, sender.sent[1]?.eventId);
    assert.strictEqual(sender.sent[0]?.bodyJson, sender.sent[1]?.bodyJson);
  });

  it("[S6.37] [S6.38] ends the retry with the first acknowledgement, after a network failure, too", async () => {
    const sender = scripted(unreachable, acknowledged);
    const id = await enqueue("service.delivered");
    await dispatcher(sender).drain();
    passMs(OUTBOX_DEFAULTS.retryDelayMs);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 2);
    assert.strictEqual((await read(id)).status, "acknowledged");
  });

  it("[D39] drops a forbidden target without a retry, for its owner's log alone", async () => {
    const sender = scripted(dropped);
    const id = await enqueue("escrow.released");
    await dispatcher(sender).drain();
    passMs(3_600_000);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 1);
    const record = await read(id);
    assert.deepEqual([record.status, record.attempts[0]?.error], ["dropped", "private"]);
  });

  it("[S6.39] sends escrow.funded once more, 30 seconds after the immediate attempt, with the same id", async () => {
    assert.strictEqual(FUNDED_BACKUP_DELAY_MS, 30_000);
    const sender = scripted(acknowledged);
    await enqueue("escrow.funded");
    // The queue stood still for a while: the 30 seconds count from the attempt, not from the event.
    passMs(100_000);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 1);
    passMs(29_999);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 1);
    passMs(1);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 2);
    assert.strictEqual(sender.sent[1]?.eventId, sender.sent[0]?.eventId);
    passMs(3_600_000);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 2);
  });

  it("[S6.39] and sends no other event a second time", async () => {
    for (const event of ["service.delivered", "escrow.released", "escrow.finalized"]) {
      const sender = scripted(acknowledged);
      await enqueue(event);
      await dispatcher(sender).drain();
      passMs(60_000);
      await dispatcher(sender).drain();
      assert.strictEqual(sender.sent.length, 1, event);
    }
  });

  it("gives each delivery to one of several workers", async () => {
    const senders = Array.from({ length: 4 }, () => scripted(acknowledged));
    const ids = [];
    for (let n = 0; n < 24; n += 1)
      ids.push(await enqueue("escrow.released", `evt_${n}`, { ...TARGET, agentId: `agt_${n % 5}` }));
    await Promise.all(senders.map((sender, n) => dispatcher(sender, `worker-${n}`).drain()));
    const sent = senders.flatMap((sender) => sender.sent.map(({ eventId }) => eventId));
    assert.strictEqual(sent.length, 24);
    assert.strictEqual(new Set(sent).size, 24);
  });

  it("sends again what a killed worker had begun, once its lease is over, and keeps the one retry", async () => {
    const id = await enqueue("escrow.released");
    const taken = await outbox().claim("killed-worker", []);
    assert.strictEqual(taken?._id, id);
    const sender = scripted(refused);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 0, "the lease still holds");
    passMs(OUTBOX_DEFAULTS.leaseMs);
    await dispatcher(sender).drain();
    passMs(OUTBOX_DEFAULTS.retryDelayMs);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 2);
    const record = await read(id);
    assert.deepEqual(
      record.attempts.map(({ outcome }) => outcome),
      ["interrupted", "refused", "refused"],
    );
    assert.strictEqual(record.status, "failed");
  });

  it("gives up a delivery that kills its worker every time", async () => {
    const id = await enqueue("escrow.released");
    for (let n = 0; n < 4; n += 1) {
      assert.ok((await outbox().claim("killed-worker", [])) !== undefined);
      passMs(OUTBOX_DEFAULTS.leaseMs);
    }
    await dispatcher(scripted(refused)).drain();
    assert.strictEqual((await read(id)).status, "failed");
  });

  it("gives up a delivery whose workers never come to say how it went, and goes on with the next", async () => {
    const id = await enqueue("escrow.released");
    for (let n = 0; n < 5; n += 1) {
      assert.strictEqual((await outbox().claim("killed-worker", []))?._id, id);
      passMs(OUTBOX_DEFAULTS.leaseMs);
    }
    const next = await enqueue("escrow.released");
    const sender = scripted(acknowledged);
    await dispatcher(sender).drain();
    assert.strictEqual(sender.sent.length, 1);
    assert.strictEqual((await read(next)).status, "acknowledged");
    const record = await read(id);
    assert.deepEqual([record.status, record.leaseOwner], ["failed", null]);
    assert.deepEqual(
      record.attempts.map(({ outcome }) => outcome),
      Array.from({ length: 5 }, () => "interrupted"),
    );
  });

  it("takes no word of a worker whose lease has passed to another", async () => {
    const id = await enqueue("escrow.released");
    const slow = await outbox().claim("slow-worker", []);
    assert.ok(slow !== undefined);
    passMs(OUTBOX_DEFAULTS.leaseMs);
    const quick = await outbox().claim("quick-worker", []);
    assert.ok(quick !== undefined);
    await outbox().finish(slow, "slow-worker", refused);
    assert.strictEqual((await read(id)).leaseOwner, "quick-worker");
    await outbox().finish(quick, "quick-worker", acknowledged);
    assert.strictEqual((await read(id)).status, "acknowledged");
  });

  it("lets no slow agent hold up the others", async () => {
    const stuck: string[] = [];
    const sent: string[] = [];
    const release = Promise.withResolvers<SendResult>();
    const sender: WebhookSender = {
      send(webhook) {
        if (webhook.url.includes("slow")) {
          stuck.push(webhook.eventId);
          return release.promise;
        }
        sent.push(webhook.eventId);
        return Promise.resolve(acknowledged);
      },
    };
    for (let n = 0; n < 12; n += 1) {
      await enqueue("escrow.released", `evt_slow${n}`, { agentId: "agt_slow", url: "http://slow.example/" });
    }
    await enqueue("escrow.released", "evt_other", { agentId: "agt_other", url: "http://other.example/" });
    const draining = dispatcher(sender).drain();
    await until("the other's is sent and the slow agent has all its places", () =>
      Promise.resolve(sent.length > 0 && stuck.length >= 4),
    );
    assert.deepEqual(sent, ["evt_other"]);
    assert.strictEqual(stuck.length, 4);
    release.resolve(acknowledged);
    assert.strictEqual(await draining, 13);
  });

  describe("signs", () => {
    it("[D38] with the agent's own secret, the old one until the new one is activated", async () => {
      const agentId = `agt_${randomBytes(4).toString("hex")}`;
      const first = await secrets.stateOf(agentId);
      assert.strictEqual(first.next, null);
      const rotated = await secrets.rotate(agentId);
      assert.strictEqual(rotated.secret, first.secret);
      assert.ok(rotated.next !== null && rotated.next.secret !== first.secret);
      assert.deepEqual(await secrets.rotate(agentId), rotated, "a repeat changes nothing");
      const sender = scripted(acknowledged);
      await enqueue("escrow.released", "evt_before", { ...TARGET, agentId });
      await dispatcher(sender).drain();
      const active = await secrets.activate(agentId);
      await enqueue("escrow.released", "evt_after", { ...TARGET, agentId });
      await dispatcher(sender).drain();
      assert.deepEqual(
        sender.sent.map(({ secret }) => secret),
        [first.secret, rotated.next.secret],
      );
      assert.deepEqual([active.secret, active.next], [rotated.next.secret, null]);
    });

    it("[D38] with the new secret after 24 hours though nobody activated it", async () => {
      const agentId = `agt_${randomBytes(4).toString("hex")}`;
      const { secret, next } = await secrets.rotate(agentId);
      passMs(ROTATION_GRACE_MS - 1);
      assert.strictEqual((await secrets.stateOf(agentId)).secret, secret);
      passMs(1);
      assert.strictEqual((await secrets.stateOf(agentId)).secret, next?.secret);
    });

    it("[D38] with a newer master only after a rotation", async () => {
      const agentId = `agt_${randomBytes(4).toString("hex")}`;
      const oldOnly = createWebhookSecrets(webhookSecretModel(connection), ["master-zero"], now);
      assert.strictEqual((await secrets.stateOf(agentId)).secret, (await oldOnly.stateOf(agentId)).secret);
      await secrets.rotate(agentId);
      await secrets.activate(agentId);
      assert.strictEqual((await rejectionOf(oldOnly.stateOf(agentId), ApiError)).code, "service_unavailable");
    });
  });
});
