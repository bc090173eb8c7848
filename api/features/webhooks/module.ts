import type { Connection } from "mongoose";

import type { EventRecorder } from "../events/recorder.ts";
import type { Subscriptions } from "../events/subscriptions.ts";
import { defineFeature } from "../feature.ts";
import type { Dispatcher, Send } from "../outbox/dispatcher.ts";
import type { DispatchModel } from "../outbox/model.ts";
import { createWebhookSend } from "./attempt.ts";
import { createDispatchLog } from "./dispatch-log.ts";
import { createWebhookHealth } from "./health.ts";
import { webhookSecretModel } from "./model.ts";
import { webhookModel } from "./registration-model.ts";
import { registrationRoutes } from "./registration-routes.ts";
import type { RegistrationDeps } from "./registration-routes.ts";
import { createRegistrations, createSubscriptions } from "./registrations.ts";
import { webhookRoutes } from "./routes.ts";
import type { WebhookDeps } from "./routes.ts";
import { createWebhookSecrets } from "./secrets.ts";
import { createWebhookSender } from "./sender.ts";

/** Dependencies of the webhooks feature. */
export interface WebhooksModuleDeps {
  connection: Connection;
  now: () => Date;
  /** The outbox where webhooks wait. */
  outbox: { models: { dispatches: DispatchModel }; dispatcher: (send: Send) => Dispatcher };
  /** Tells owners that their webhook is disabled. */
  recorder: EventRecorder;
  signingSecrets: readonly string[];
  allowedPrivateHosts: readonly string[];
}

/** The registered addresses, for the recorder of events, which this feature uses itself. */
export function subscriptionsOf(connection: Connection): Subscriptions {
  return createSubscriptions(webhookModel(connection));
}

/** Signed webhooks: registration, sending, log and secrets. */
export const webhooksModule = defineFeature({
  routes: [...webhookRoutes, ...registrationRoutes],
  create({ connection, now, outbox, recorder, signingSecrets, allowedPrivateHosts }: WebhooksModuleDeps) {
    const secrets = createWebhookSecrets(webhookSecretModel(connection), signingSecrets, now);
    const sender = createWebhookSender({ allowedPrivateHosts });
    const webhooks = webhookModel(connection);
    const health = createWebhookHealth({ connection, webhooks, recorder, now });
    const dispatcher = outbox.dispatcher(createWebhookSend({ sender, secrets, health, now }));
    const registrations = createRegistrations(webhooks, now);
    const services: WebhookDeps & RegistrationDeps = {
      webhookSecrets: secrets,
      dispatchLog: createDispatchLog(outbox.models.dispatches),
      registrations,
    };
    return {
      services,
      loops: [{ name: "webhooks.dispatch", run: (signal: AbortSignal) => dispatcher.run(signal) }],
      secrets,
      registrations,
      dispatcher,
    };
  },
});
