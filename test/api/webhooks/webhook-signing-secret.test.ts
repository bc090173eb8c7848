import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { createIndexes } from "../../../api/db/connection.ts";
import { createWebhookSend } from "../../../api/features/webhooks/dispatches/attempt.ts";
import type { WebhookHealth } from "../../../api/features/webhooks/registrations/health.ts";
import { webhookSecretModel } from "../../../api/features/webhooks/secrets/model.ts";
import { createWebhookSecrets, ROTATION_GRACE_MS } from "../../../api/features/webhooks/secrets/service.ts";
import type { WebhookSecrets } from "../../../api/features/webhooks/secrets/service.ts";
import type { OutgoingWebhook } from "../../../api/features/webhooks/dispatches/sender.ts";
import { ApiError } from "../../../api/http/errors.ts";
import { ACKNOWLEDGED, TestOutbox } from "../../fixtures/outbox.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

/** No dispatch here belongs to a registration. */
const HEALTHY: WebhookHealth = {
  readAddress: () => Promise.reject(new Error("not registered")),
  report: () => Promise.reject(new Error("not registered")),
};

/** Dispatches here have bodies of their own. */
const eventLog = { readBody: () => Promise.resolve(undefined) };

describe("a webhook is signed", () => {
  let outbox: TestOutbox;
  let secrets: WebhookSecrets;
  let clock = new Date();
  const now = () => clock;
  const passMs = (ms: number) => {
    clock = new Date(clock.getTime() + ms);
  };

  before(async () => {
    outbox = await TestOutbox.open();
    secrets = createWebhookSecrets(webhookSecretModel(outbox.connection), ["master-zero", "master-one"], now);
    await createIndexes(outbox.connection);
  });
  after(() => outbox.close());

  it("[D38] with the agent's own secret, the old one until the new one is activated", async () => {
    const agentId = `agt_${randomBytes(4).toString("hex")}`;
    const first = await secrets.stateOf(agentId);
    assert.strictEqual(first.next, null);
    const rotated = await secrets.rotate(agentId);
    assert.strictEqual(rotated.secret, first.secret);
    assert.ok(rotated.next !== null && rotated.next.secret !== first.secret);
    assert.deepEqual(await secrets.rotate(agentId), rotated, "a repeat changes nothing");
    const sent: OutgoingWebhook[] = [];
    const sender = {
      send(webhook: OutgoingWebhook) {
        sent.push(webhook);
        return Promise.resolve(ACKNOWLEDGED);
      },
    };
    const dispatcher = outbox.dispatcher(createWebhookSend({ sender, secrets, health: HEALTHY, eventLog, now }));
    await outbox.put("escrow.released", agentId);
    await dispatcher.drain();
    const active = await secrets.activate(agentId);
    await outbox.put("escrow.released", agentId);
    await dispatcher.drain();
    assert.deepEqual(
      sent.map(({ secret }) => secret),
      [first.secret, rotated.next.secret],
    );
    assert.deepEqual([active.secret, active.next], [rotated.next.secret, null]);
  });

  it("[D38] with the new secret after 24 hours even if nobody activates it", async () => {
    const agentId = `agt_${randomBytes(4).toString("hex")}`;
    const { secret, next } = await secrets.rotate(agentId);
    passMs(ROTATION_GRACE_MS - 1);
    assert.strictEqual((await secrets.stateOf(agentId)).secret, secret);
    passMs(1);
    assert.strictEqual((await secrets.stateOf(agentId)).secret, next?.secret);
  });

  it("[D38] with a newer master only after a rotation", async () => {
    const agentId = `agt_${randomBytes(4).toString("hex")}`;
    const oldOnly = createWebhookSecrets(webhookSecretModel(outbox.connection), ["master-zero"], now);
    assert.strictEqual((await secrets.stateOf(agentId)).secret, (await oldOnly.stateOf(agentId)).secret);
    await secrets.rotate(agentId);
    await secrets.activate(agentId);
    assert.strictEqual((await rejectionOf(oldOnly.stateOf(agentId), ApiError)).code, "service_unavailable");
  });
});
