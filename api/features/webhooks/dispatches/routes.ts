import { defineRoute } from "../../../http/define-route.ts";
import { encodeCursor } from "../../../http/query-params.ts";
import type { DispatchLog, ListedDispatch } from "./log.ts";
import type { MissedEvents } from "./missed-events.ts";
import type { Redeliveries } from "./redeliveries.ts";
import { webhookParams } from "../registrations/schemas.ts";
import {
  dispatchParams,
  dispatchAnswer,
  dispatchListAnswer,
  dispatchListQuery,
  missedAnswer,
  missedBody,
} from "./schemas.ts";

/** Dependencies of the routes of dispatches, which the API calls deliveries. */
export interface DispatchDeps {
  dispatchLog: DispatchLog;
  redeliveries: Redeliveries;
  missedEvents: MissedEvents;
}

const general = { tag: "Webhooks", auth: "apiKey", limitClass: "general", budget: "api" } as const;

function presentDispatch(record: ListedDispatch) {
  return {
    id: record._id,
    deliveryId: record._id,
    eventId: record.eventId,
    event: record.eventType,
    transactionId: record.transactionId,
    webhookId: record.webhookId,
    durable: record.durable,
    redeliveryOf: record.redeliveryOf,
    url: record.url,
    kind: record.kind,
    status: record.status,
    attempts: record.attempts.map((attempt) => ({
      ...attempt,
      startedAt: attempt.startedAt.toISOString(),
      finishedAt: attempt.finishedAt?.toISOString() ?? null,
    })),
    createdAt: record.createdAt.toISOString(),
  };
}

const listDispatches = defineRoute({
  name: "webhooks.listDeliveries",
  scope: "none",
  pageScope: "read",
  ...general,
  method: "GET",
  path: "/api/v1/webhooks/deliveries",
  summary: "Lists the deliveries to the caller's addresses, newest first",
  description: "The last seven days, with every attempt. A target that failed the address check appears only here.",
  query: dispatchListQuery,
  responses: { 200: dispatchListAnswer },
}).handle(async ({ caller, query }, { dispatchLog }: DispatchDeps) => {
  const { dispatches, next } = await dispatchLog.list(caller.agentId, query);
  const nextCursor = next === null ? null : encodeCursor(next);
  return { status: 200, body: { success: true, data: dispatches.map(presentDispatch), nextCursor } };
});

const readDispatch = defineRoute({
  name: "webhooks.readDelivery",
  scope: "none",
  pageScope: "read",
  ...general,
  method: "GET",
  path: "/api/v1/webhooks/deliveries/{deliveryId}",
  summary: "Reads a delivery to one of the caller's addresses",
  params: dispatchParams,
  responses: { 200: dispatchAnswer },
  errors: ["not_found"],
}).handle(async ({ caller, params }, { dispatchLog }: DispatchDeps) => ({
  status: 200,
  body: { success: true, data: presentDispatch(await dispatchLog.get(caller.agentId, params.deliveryId)) },
}));

const redeliver = defineRoute({
  name: "webhooks.redeliver",
  scope: "none",
  pageScope: "sell",
  ...general,
  method: "POST",
  path: "/api/v1/webhooks/deliveries/{deliveryId}/redeliver",
  summary: "Sends a delivery again",
  description:
    "A new delivery of the same event with the same event id and body, to a registered webhook's current address. " +
    "It is retried once, even for a durable webhook.",
  params: dispatchParams,
  responses: { 202: dispatchAnswer },
  errors: ["not_found", "webhook_not_active"],
}).handle(async ({ caller, params, operation }, { redeliveries }: DispatchDeps) => ({
  status: 202,
  body: {
    success: true,
    data: presentDispatch(await redeliveries.redeliver(caller.agentId, params.deliveryId, operation)),
  },
}));

const ping = defineRoute({
  name: "webhooks.ping",
  scope: "none",
  pageScope: "sell",
  ...general,
  method: "POST",
  path: "/api/v1/webhooks/{webhookId}/ping",
  summary: "Sends a trial to a registered webhook",
  description:
    "A signed `webhook.ping` that no event log has. It is retried once, and the delivery log says how it went. " +
    "It counts as an attempt when the service decides whether the webhook is failing.",
  params: webhookParams,
  responses: { 202: dispatchAnswer },
  errors: ["not_found", "webhook_not_active"],
}).handle(async ({ caller, params, operation }, { redeliveries }: DispatchDeps) => ({
  status: 202,
  body: { success: true, data: presentDispatch(await redeliveries.ping(caller.agentId, params.webhookId, operation)) },
}));

const redeliverMissed = defineRoute({
  name: "webhooks.redeliverMissed",
  scope: "none",
  pageScope: "sell",
  ...general,
  method: "POST",
  path: "/api/v1/webhooks/{webhookId}/redeliver-missed",
  summary: "Sends again what a registered webhook has missed since a time",
  description:
    "Every event of the last seven days without an acknowledged or waiting delivery to this webhook, oldest first, " +
    "unless ten of its deliveries have failed. At most 1,000 a call. If `next` isn't null, call again with it as `since`.",
  params: webhookParams,
  body: missedBody,
  responses: { 200: missedAnswer },
  errors: ["not_found", "webhook_not_active", "service_unavailable"],
}).handle(async ({ caller, params, body }, { missedEvents }: DispatchDeps) => {
  const { queued, next } = await missedEvents.sendAgain(caller.agentId, params.webhookId, new Date(body.since));
  return { status: 200, body: { success: true, data: { queued, next: next?.toISOString() ?? null } } };
});

export const dispatchRoutes = [listDispatches, readDispatch, redeliver, ping, redeliverMissed];
