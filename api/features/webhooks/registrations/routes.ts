import { defineRoute } from "../../../http/define-route.ts";
import { encodeCursor } from "../../../http/query-params.ts";
import type { WebhookRecord } from "./model.ts";
import {
  createWebhookBody,
  patchWebhookBody,
  webhookAnswer,
  webhookListAnswer,
  webhookListQuery,
  webhookParams,
} from "./schemas.ts";
import type { Registrations } from "./service.ts";

/** Dependencies of the routes of registered webhooks. */
export interface RegistrationDeps {
  registrations: Registrations;
}

const general = { tag: "Webhooks", auth: "apiKey", limitClass: "general", budget: "api" } as const;

/** A registered webhook as the API answers it. */
export function presentWebhook({ _id, url, events, durable, status, ...record }: WebhookRecord) {
  return {
    id: _id,
    webhookId: _id,
    url,
    events,
    durable,
    status,
    failingSince: record.failingSince?.toISOString() ?? null,
    disabledAt: record.disabledAt?.toISOString() ?? null,
    createdAt: record.createdAt.toISOString(),
    updatedAt: record.updatedAt.toISOString(),
  };
}

const register = defineRoute({
  name: "webhooks.create",
  scope: "none",
  ...general,
  method: "POST",
  path: "/api/v1/webhooks",
  summary: "Registers a webhook for some of the caller's events",
  description: "It gets them in addition to `endpointUrl` and `callbackUrl`. At most 20 an agent.",
  body: createWebhookBody,
  responses: { 201: webhookAnswer },
  errors: ["webhook_limit_reached", "service_unavailable"],
}).handle(async ({ caller, body, operation }, { registrations }: RegistrationDeps) => ({
  status: 201,
  body: { success: true, data: presentWebhook(await registrations.add(caller.agentId, body, operation)) },
}));

const list = defineRoute({
  name: "webhooks.list",
  scope: "none",
  pageScope: "read",
  ...general,
  method: "GET",
  path: "/api/v1/webhooks",
  summary: "Lists the caller's webhooks, newest first",
  query: webhookListQuery,
  responses: { 200: webhookListAnswer },
}).handle(async ({ caller, query }, { registrations }: RegistrationDeps) => {
  const { webhooks, next } = await registrations.list(caller.agentId, query);
  const nextCursor = next === null ? null : encodeCursor(next);
  return { status: 200, body: { success: true, data: webhooks.map(presentWebhook), nextCursor } };
});

const read = defineRoute({
  name: "webhooks.read",
  scope: "none",
  pageScope: "read",
  ...general,
  method: "GET",
  path: "/api/v1/webhooks/{webhookId}",
  summary: "Reads a webhook of the caller",
  params: webhookParams,
  responses: { 200: webhookAnswer },
  errors: ["not_found"],
}).handle(async ({ caller, params }, { registrations }: RegistrationDeps) => ({
  status: 200,
  body: { success: true, data: presentWebhook(await registrations.get(caller.agentId, params.webhookId)) },
}));

const change = defineRoute({
  name: "webhooks.update",
  scope: "none",
  ...general,
  method: "PATCH",
  path: "/api/v1/webhooks/{webhookId}",
  summary: "Changes a webhook of the caller, or enables it again",
  description: "Dispatches that wait for it go to its new address.",
  params: webhookParams,
  body: patchWebhookBody,
  responses: { 200: webhookAnswer },
  errors: ["not_found"],
}).handle(async ({ caller, params, body }, { registrations }: RegistrationDeps) => ({
  status: 200,
  body: { success: true, data: presentWebhook(await registrations.change(caller.agentId, params.webhookId, body)) },
}));

const remove = defineRoute({
  name: "webhooks.delete",
  scope: "none",
  ...general,
  method: "DELETE",
  path: "/api/v1/webhooks/{webhookId}",
  summary: "Removes a webhook of the caller",
  description: "What waits for it is given up.",
  params: webhookParams,
  responses: { 200: webhookAnswer },
  errors: ["not_found"],
}).handle(async ({ caller, params, operation }, { registrations }: RegistrationDeps) => ({
  status: 200,
  body: {
    success: true,
    data: presentWebhook(await registrations.remove(caller.agentId, params.webhookId, operation)),
  },
}));

export const registrationRoutes = [register, list, read, change, remove];
