import type { Connection } from "mongoose";

import type { Logger } from "../../lib/logger.ts";
import { defineFeature } from "../feature.ts";
import { createDeliveryLog } from "./delivery-log.ts";
import { createWebhookDispatcher } from "./dispatcher.ts";
import { deliveryModel, webhookSecretModel } from "./model.ts";
import { createOutbox, OUTBOX_DEFAULTS } from "./outbox.ts";
import type { OutboxOptions } from "./outbox.ts";
import { webhookRoutes } from "./routes.ts";
import type { WebhookDeps } from "./routes.ts";
import { createWebhookSecrets } from "./secrets.ts";
import { createWebhookSender } from "./sender.ts";

/** Spans of the background work. Tests make them short. */
export interface WebhookTimings {
  /** Pause between two looks at an empty outbox, in milliseconds. */
  outboxPollMs: number;
  outbox: OutboxOptions;
}

export const WEBHOOK_TIMINGS: WebhookTimings = { outboxPollMs: 100, outbox: OUTBOX_DEFAULTS };

/** What webhooks need. */
export interface WebhooksModuleDeps {
  connection: Connection;
  log: Logger;
  now: () => Date;
  /** Names this process in leases. */
  processId: string;
  signingSecrets: readonly string[];
  allowedPrivateHosts: readonly string[];
  timings: WebhookTimings;
}

const DISPATCH_CONCURRENCY = 32;
const DISPATCH_CONCURRENCY_PER_AGENT = 4;

/** Signed webhooks: the outbox, what sends it, and the secrets. */
export const webhooksModule = defineFeature({
  routes: webhookRoutes,
  create({ connection, log, now, processId, timings, ...options }: WebhooksModuleDeps) {
    const deliveries = deliveryModel(connection);
    const secrets = createWebhookSecrets(webhookSecretModel(connection), options.signingSecrets, now);
    const dispatcher = createWebhookDispatcher({
      outbox: createOutbox(deliveries, timings.outbox, now),
      sender: createWebhookSender({ allowedPrivateHosts: options.allowedPrivateHosts }),
      secrets,
      log,
      now,
      owner: processId,
      pollMs: timings.outboxPollMs,
      concurrency: DISPATCH_CONCURRENCY,
      concurrencyPerAgent: DISPATCH_CONCURRENCY_PER_AGENT,
    });
    const services: WebhookDeps = { webhookSecrets: secrets, deliveryLog: createDeliveryLog(deliveries) };
    return {
      services,
      loops: [{ name: "webhooks.dispatch", run: (signal: AbortSignal) => dispatcher.run(signal) }],
      models: { deliveries },
      secrets,
      dispatcher,
    };
  },
});
