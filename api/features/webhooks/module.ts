import type { Connection } from "mongoose";

import { defineFeature } from "../feature.ts";
import type { Dispatcher, Send } from "../outbox/dispatcher.ts";
import type { DispatchModel } from "../outbox/model.ts";
import { createWebhookSend } from "./attempt.ts";
import { createDispatchLog } from "./dispatch-log.ts";
import { webhookSecretModel } from "./model.ts";
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
  signingSecrets: readonly string[];
  allowedPrivateHosts: readonly string[];
}

/** Signed webhooks: sending, log and secrets. */
export const webhooksModule = defineFeature({
  routes: webhookRoutes,
  create({ connection, now, outbox, signingSecrets, allowedPrivateHosts }: WebhooksModuleDeps) {
    const secrets = createWebhookSecrets(webhookSecretModel(connection), signingSecrets, now);
    const sender = createWebhookSender({ allowedPrivateHosts });
    const dispatcher = outbox.dispatcher(createWebhookSend(sender, secrets, now));
    const services: WebhookDeps = {
      webhookSecrets: secrets,
      dispatchLog: createDispatchLog(outbox.models.dispatches),
    };
    return {
      services,
      loops: [{ name: "webhooks.dispatch", run: (signal: AbortSignal) => dispatcher.run(signal) }],
      secrets,
      dispatcher,
    };
  },
});
