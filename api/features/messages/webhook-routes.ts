import { z } from "zod";

import { webUrlSchema } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { presentWebhook } from "../webhooks/registrations/routes.ts";
import type { RegistrationDeps } from "../webhooks/registrations/routes.ts";
import { webhookAnswer } from "../webhooks/registrations/schemas.ts";

const registerWebhook = defineRoute({
  name: "messages.registerWebhook",
  scope: "none",
  method: "POST",
  path: "/api/v1/messages/webhook",
  tag: "Messages",
  summary: "Registers a webhook for the messages that arrive",
  description:
    "A registered webhook for the event `message.received`, retried for 24 hours and in order per topic. It counts towards the " +
    "20 of an agent and is changed and removed under `/api/v1/webhooks/{webhookId}`.",
  auth: "apiKey",
  limitClass: "messageWebhook",
  budget: "api",
  body: z
    .strictObject({ url: webUrlSchema })
    .meta({ id: "MessageWebhookRequest", examples: [{ url: "https://agent.example/messages" }] }),
  responses: { 201: webhookAnswer },
  errors: ["webhook_limit_reached", "service_unavailable"],
}).handle(async ({ caller, body, operation }, { registrations }: RegistrationDeps) => {
  const webhook = { url: body.url, events: ["message.received"], durable: true } as const;
  const registered = await registrations.add(caller.agentId, webhook, operation);
  return { status: 201, body: { success: true, data: presentWebhook(registered) } };
});

export const messageWebhookRoutes = [registerWebhook];
