import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor } from "../../http/query-params.ts";
import type { DispatchRecord } from "../outbox/model.ts";
import type { DispatchLog } from "./dispatch-log.ts";
import type { Redeliveries } from "./redeliveries.ts";
import { deliveryParams, dispatchAnswer, dispatchListAnswer, dispatchListQuery, emptyBody } from "./schemas.ts";

/** Dependencies of the routes of deliveries. */
export interface DeliveryDeps {
  dispatchLog: DispatchLog;
  redeliveries: Redeliveries;
}

const general = { tag: "Webhooks", auth: "apiKey", limitClass: "general", budget: "api" } as const;

function presentDispatch(record: DispatchRecord) {
  return {
    deliveryId: record._id,
    eventId: record.eventId,
    event: record.eventType,
    transactionId: record.transactionId,
    webhookId: record.webhookId,
    durable: record.durable,
    url: record.url,
    kind: record.kind,
    // Dispatches of an earlier version have no such field.
    redeliveryOf: record.redeliveryOf ?? null,
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
  ...general,
  method: "GET",
  path: "/api/v1/webhooks/deliveries",
  summary: "Lists the deliveries to the caller's addresses, newest first",
  description: "The last seven days, with every attempt. A target that failed the address check appears only here.",
  query: dispatchListQuery,
  responses: { 200: dispatchListAnswer },
}).handle(async ({ caller, query }, { dispatchLog }: DeliveryDeps) => {
  const { dispatches, next } = await dispatchLog.list(caller.agentId, query);
  const nextCursor = next === null ? null : encodeCursor(next);
  return { status: 200, body: { success: true, data: dispatches.map(presentDispatch), nextCursor } };
});

const readDispatch = defineRoute({
  ...general,
  method: "GET",
  path: "/api/v1/webhooks/deliveries/{deliveryId}",
  summary: "Reads a delivery to one of the caller's addresses",
  params: deliveryParams,
  responses: { 200: dispatchAnswer },
  errors: ["not_found"],
}).handle(async ({ caller, params }, { dispatchLog }: DeliveryDeps) => ({
  status: 200,
  body: { success: true, data: presentDispatch(await dispatchLog.get(caller.agentId, params.deliveryId)) },
}));

const redeliver = defineRoute({
  ...general,
  method: "POST",
  path: "/api/v1/webhooks/deliveries/{deliveryId}/redeliver",
  summary: "Sends a delivery again",
  description:
    "A new delivery of the same event with the same event id and body, to a registered webhook's current address. " +
    "It is retried once, even for a durable webhook.",
  params: deliveryParams,
  body: emptyBody,
  responses: { 202: dispatchAnswer },
  errors: ["not_found", "webhook_not_active"],
}).handle(async ({ caller, params, operation }, { redeliveries }: DeliveryDeps) => ({
  status: 202,
  body: {
    success: true,
    data: presentDispatch(await redeliveries.redeliver(caller.agentId, params.deliveryId, operation)),
  },
}));

export const deliveryRoutes = [listDispatches, readDispatch, redeliver];
