import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor } from "../../http/query-params.ts";
import type { DispatchRecord } from "../outbox/model.ts";
import type { DispatchLog } from "./dispatch-log.ts";
import { dispatchListAnswer, dispatchListQuery, emptyBody, secretAnswer } from "./schemas.ts";
import { standardSecretOf } from "./signature.ts";
import type { WebhookSecrets, WebhookSecretState } from "./secrets.ts";

/** Dependencies of the webhook routes. */
export interface WebhookDeps {
  webhookSecrets: WebhookSecrets;
  dispatchLog: DispatchLog;
}

const general = { tag: "Webhooks", auth: "apiKey", limitClass: "general", budget: "api" } as const;

function presentSecret(state: WebhookSecretState) {
  const next =
    state.next === null
      ? null
      : {
          ...state.next,
          standardSecret: standardSecretOf(state.next.secret),
          activatesAt: state.next.activatesAt.toISOString(),
        };
  return { success: true as const, data: { ...state, standardSecret: standardSecretOf(state.secret), next } };
}

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
    status: record.status,
    attempts: record.attempts.map((attempt) => ({
      ...attempt,
      startedAt: attempt.startedAt.toISOString(),
      finishedAt: attempt.finishedAt?.toISOString() ?? null,
    })),
    createdAt: record.createdAt.toISOString(),
  };
}

const readSecret = defineRoute({
  ...general,
  method: "GET",
  path: "/api/v1/webhooks/secret",
  summary: "Reads the secret that signs the caller's webhooks",
  description: "Each agent has its own. It is not the API key.",
  responses: { 200: secretAnswer },
  errors: ["service_unavailable"],
}).handle(async ({ caller }, { webhookSecrets }: WebhookDeps) => ({
  status: 200,
  body: presentSecret(await webhookSecrets.stateOf(caller.agentId)),
  headers: { "Cache-Control": "no-store" },
}));

const rotateSecret = defineRoute({
  ...general,
  method: "POST",
  path: "/api/v1/webhooks/secret/rotate",
  summary: "Creates the next webhook secret",
  description:
    "The old secret keeps signing until the new one is activated, but at most 24 hours. A repeat changes nothing.",
  body: emptyBody,
  storesAnswer: false,
  responses: { 200: secretAnswer },
  errors: ["service_unavailable"],
}).handle(async ({ caller }, { webhookSecrets }: WebhookDeps) => ({
  status: 200,
  body: presentSecret(await webhookSecrets.rotate(caller.agentId)),
}));

const activateSecret = defineRoute({
  ...general,
  method: "POST",
  path: "/api/v1/webhooks/secret/activate",
  summary: "Activates the next webhook secret",
  body: emptyBody,
  storesAnswer: false,
  responses: { 200: secretAnswer },
  errors: ["service_unavailable"],
}).handle(async ({ caller }, { webhookSecrets }: WebhookDeps) => ({
  status: 200,
  body: presentSecret(await webhookSecrets.activate(caller.agentId)),
}));

const listDispatches = defineRoute({
  ...general,
  method: "GET",
  path: "/api/v1/webhooks/deliveries",
  summary: "Lists the deliveries to the caller's addresses, newest first",
  description: "The last seven days, with every attempt. A target that failed the address check appears only here.",
  query: dispatchListQuery,
  responses: { 200: dispatchListAnswer },
}).handle(async ({ caller, query }, { dispatchLog }: WebhookDeps) => {
  const { dispatches, next } = await dispatchLog.list(caller.agentId, query);
  const nextCursor = next === null ? null : encodeCursor(next);
  return { status: 200, body: { success: true, data: dispatches.map(presentDispatch), nextCursor } };
});

export const webhookRoutes = [readSecret, rotateSecret, activateSecret, listDispatches];
