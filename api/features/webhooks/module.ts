import type { Connection } from "mongoose";

import { doneOperationModel } from "../../db/done-operations.ts";
import type { EventLog } from "../events/log.ts";
import type { EventRecorder } from "../events/recorder.ts";
import type { Subscriptions } from "../events/subscriptions.ts";
import { defineFeature } from "../feature.ts";
import type { Dispatcher, Send } from "../outbox/dispatcher.ts";
import type { DispatchModel } from "../outbox/model.ts";
import type { OutboxWriter } from "../outbox/enqueue.ts";
import { createWebhookSend } from "./dispatches/attempt.ts";
import { dispatchRoutes } from "./dispatches/routes.ts";
import type { DispatchDeps } from "./dispatches/routes.ts";
import { createDispatchLog } from "./dispatches/log.ts";
import { createWebhookHealth } from "./registrations/health.ts";
import { createMissedEvents } from "./dispatches/missed-events.ts";
import { webhookSecretModel } from "./secrets/model.ts";
import { createRedeliveries } from "./dispatches/redeliveries.ts";
import { webhookModel } from "./registrations/model.ts";
import { registrationRoutes } from "./registrations/routes.ts";
import type { RegistrationDeps } from "./registrations/routes.ts";
import { createSubscriptions, Registrations } from "./registrations/service.ts";
import { secretRoutes } from "./secrets/routes.ts";
import type { SecretDeps } from "./secrets/routes.ts";
import { createWebhookSecrets } from "./secrets/service.ts";
import { createWebhookSender } from "./dispatches/sender.ts";

/** Dependencies of the webhooks feature. */
export interface WebhooksModuleDeps {
  connection: Connection;
  now: () => Date;
  /** The outbox of waiting webhooks. */
  outbox: {
    models: { dispatches: DispatchModel };
    writer: OutboxWriter;
    dispatcher: (send: Send) => Dispatcher;
  };
  /** Records `webhook.disabled` for owners. */
  recorder: EventRecorder;
  /** Source of the events' bodies. */
  eventLog: EventLog;
  signingSecrets: readonly string[];
  allowedPrivateHosts: readonly string[];
}

/** The registered addresses for the event recorder. Separate from the feature, because the feature needs that recorder. */
export function subscriptionsOf(connection: Connection): Subscriptions {
  return createSubscriptions(webhookModel(connection));
}

/** Signed webhooks: registration, sending, log and secrets. */
export const webhooksModule = defineFeature({
  routes: [...secretRoutes, ...dispatchRoutes, ...registrationRoutes],
  create({ connection, now, outbox, recorder, eventLog, signingSecrets, allowedPrivateHosts }: WebhooksModuleDeps) {
    const secrets = createWebhookSecrets(webhookSecretModel(connection), signingSecrets, now);
    const sender = createWebhookSender({ allowedPrivateHosts });
    const webhooks = webhookModel(connection);
    const health = createWebhookHealth({ connection, webhooks, recorder, now });
    const dispatcher = outbox.dispatcher(createWebhookSend({ sender, secrets, health, eventLog, now }));
    const registrations = new Registrations({
      connection,
      webhooks,
      doneOperations: doneOperationModel(connection),
      now,
    });
    const { dispatches } = outbox.models;
    const dispatchLog = createDispatchLog(dispatches);
    const queueing = { connection, dispatches, writer: outbox.writer, registrations, now };
    const redeliveries = createRedeliveries({ ...queueing, log: dispatchLog, health });
    const services: SecretDeps & DispatchDeps & RegistrationDeps = {
      webhookSecrets: secrets,
      dispatchLog,
      redeliveries,
      registrations,
      missedEvents: createMissedEvents(queueing),
    };
    return {
      services,
      loops: [dispatcher],
      secrets,
      registrations,
      dispatcher,
    };
  },
});
