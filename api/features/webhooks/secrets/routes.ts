import { defineRoute } from "../../../http/define-route.ts";
import { secretAnswer } from "./schemas.ts";
import { standardSecretOf } from "./signature.ts";
import type { WebhookSecrets, WebhookSecretState } from "./service.ts";

/** Dependencies of the routes of the webhook secret. */
export interface SecretDeps {
  webhookSecrets: WebhookSecrets;
}

const general = { tag: "Webhooks", auth: "apiKey", limitClass: "general", budget: "api" } as const;

/** The secrets of an agent as the API answers them. */
export function presentSecret(state: WebhookSecretState) {
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

const readSecret = defineRoute({
  name: "webhooks.readSecret",
  scope: "none",
  ...general,
  method: "GET",
  path: "/api/v1/webhooks/secret",
  summary: "Reads the secret that signs the caller's webhooks",
  description: "Each agent has its own. It is not the API key.",
  storesResponse: false,
  responses: { 200: secretAnswer },
  errors: ["service_unavailable"],
}).handle(async ({ caller }, { webhookSecrets }: SecretDeps) => ({
  status: 200,
  body: presentSecret(await webhookSecrets.stateOf(caller.agentId)),
  headers: { "Cache-Control": "no-store" },
}));

const rotateSecret = defineRoute({
  name: "webhooks.rotateSecret",
  scope: "none",
  ...general,
  method: "POST",
  path: "/api/v1/webhooks/secret/rotate",
  summary: "Creates the next webhook secret",
  description:
    "The old secret keeps signing until the new one is activated, but at most 24 hours. A repeat changes nothing.",
  storesResponse: false,
  responses: { 200: secretAnswer },
  errors: ["service_unavailable"],
}).handle(async ({ caller }, { webhookSecrets }: SecretDeps) => ({
  status: 200,
  body: presentSecret(await webhookSecrets.rotate(caller.agentId)),
}));

const activateSecret = defineRoute({
  name: "webhooks.activateSecret",
  scope: "none",
  ...general,
  method: "POST",
  path: "/api/v1/webhooks/secret/activate",
  summary: "Activates the next webhook secret",
  storesResponse: false,
  responses: { 200: secretAnswer },
  errors: ["service_unavailable"],
}).handle(async ({ caller }, { webhookSecrets }: SecretDeps) => ({
  status: 200,
  body: presentSecret(await webhookSecrets.activate(caller.agentId)),
}));

export const secretRoutes = [readSecret, rotateSecret, activateSecret];
