import { z } from "zod";

import { addressOutput, dataOf, listOf, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import type { RouteRequest } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { SESSION_ERRORS } from "../../http/page-session.ts";
import type { PageSessions } from "../../http/page-session.ts";
import { SCOPES } from "../../http/scopes.ts";
import { keyOutput } from "../identity/mandate-schemas.ts";
import { presentKey } from "../identity/present-key.ts";
import { messageSchema, signatureSchema } from "../identity/sign-in-schemas.ts";
import { presentSecret } from "../webhooks/secrets/routes.ts";
import type { SecretDeps } from "../webhooks/secrets/routes.ts";
import { secretAnswer } from "../webhooks/secrets/schemas.ts";
import type { KeyManagement } from "./key-management.ts";
import type { PageSession, Sessions } from "./sessions.ts";
import type { UseSignedText } from "./signed-texts.ts";

/** Dependencies of the routes for sessions. */
export interface SessionDeps {
  sessions: Sessions;
  keyManagement: KeyManagement;
  useSignedText: UseSignedText;
  now: () => Date;
  pageSessions: PageSessions;
  publicUrl: string;
}

const sessionFields = {
  agentId: z.string(),
  walletAddress: addressOutput,
  scopes: z.array(z.enum(SCOPES)),
  createdAt: timestampOutput,
  idleEndsAt: timestampOutput.meta({ description: "When it ends unless it is used again" }),
  endsAt: timestampOutput.meta({ description: "When it ends in any case" }),
};
const openedSession = z
  .object({
    ...sessionFields,
    token: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({ description: "For the header X-Session-Token; shown only this once" }),
  })
  .meta({ id: "OpenedSession" });

function present({ agentId, walletAddress, scopes, createdAt, idleEndsAt, endsAt }: PageSession) {
  return {
    agentId,
    walletAddress,
    scopes: [...scopes],
    createdAt: createdAt.toISOString(),
    idleEndsAt: idleEndsAt.toISOString(),
    endsAt: endsAt.toISOString(),
  };
}

// Pages alone use these routes: an agent has a key. No description has them, and no key opens them.
const shared = { tag: "Agents", audience: "people", scope: "none", auth: "none", budget: "none" } as const;

const openSession = defineRoute({
  ...shared,
  name: "sessions.open",
  method: "POST",
  path: "/api/v1/sessions",
  summary: "Opens a session for a page of this service, for a text that the agent's wallet has signed",
  limitClass: "registration",
  body: z
    .strictObject({
      message: messageSchema,
      signature: signatureSchema,
      scopes: z.enum(["read", "all"]).meta({ description: "As the statement of the message says" }),
    })
    .meta({
      id: "SessionRequest",
      examples: [{ message: EXAMPLE.pageSession, signature: EXAMPLE.signature, scopes: "read" }],
    }),
  storesResponse: false,
  responses: { 201: dataOf(openedSession) },
  errors: [
    "sign_in_needs_https",
    "session_other_origin",
    "sign_in_message_invalid",
    "signature_invalid",
    "wallet_not_of_stack",
    "wallet_not_registered",
    "session_limit_reached",
    "nonce_already_used",
    "service_unavailable",
  ],
}).handle(async ({ body, headers }, { sessions, pageSessions, publicUrl }: SessionDeps) => {
  if (!pageSessions.areSafe) throw new ApiError("sign_in_needs_https", { details: { publicUrl } });
  // Another origin's page mustn't sign its visitor in, not even as its own agent.
  if (headers.origin !== pageSessions.origin || !pageSessions.isSameOrigin(headers)) {
    throw pageSessions.refused("session_other_origin");
  }
  const { id, ...session } = await sessions.open(body);
  return {
    status: 201,
    body: { success: true, data: { ...present(session), token: session.token } },
    headers: { "Set-Cookie": pageSessions.cookieOf(id) },
  };
});

const PATH = "/api/v1/sessions/current";

/** The session of a request. @throws ApiError of `SESSION_ERRORS` */
async function currentOf(
  method: "GET" | "POST" | "DELETE",
  { headers }: Pick<RouteRequest<"none", unknown, unknown, unknown>, "headers">,
  { sessions, pageSessions }: SessionDeps,
) {
  const presented = pageSessions.read(headers, { method, path: PATH });
  if (presented === undefined) throw pageSessions.refused("session_ended");
  if ("refusal" in presented) throw pageSessions.refused(presented.refusal);
  const { hash, tokenHash } = presented;
  const session = await sessions.find(hash);
  if (session === undefined) throw pageSessions.refused("session_ended");
  if (tokenHash !== undefined && tokenHash !== session.tokenHash) throw pageSessions.refused("session_token_invalid");
  return { session, hash };
}

const readSession = defineRoute({
  ...shared,
  name: "sessions.current",
  method: "GET",
  path: PATH,
  summary: "Whose session the page has, what it may do and when it ends",
  limitClass: "keyless",
  responses: { 200: dataOf(z.object(sessionFields).meta({ id: "PageSession" })) },
  errors: [...SESSION_ERRORS],
}).handle(async (request, deps: SessionDeps) => {
  const { session } = await currentOf("GET", request, deps);
  return { status: 200, body: { success: true, data: present(session) } };
});

const endSession = defineRoute({
  ...shared,
  name: "sessions.end",
  method: "DELETE",
  path: PATH,
  summary: "Signs the page out",
  limitClass: "keyless",
  storesResponse: false,
  responses: { 200: dataOf(z.object({ endedAt: timestampOutput }).meta({ id: "EndedSession" })) },
  errors: [...SESSION_ERRORS],
}).handle(async (request, deps: SessionDeps) => {
  const { session, hash } = await currentOf("DELETE", request, deps);
  const endedAt = await deps.sessions.end(session.agentId, hash);
  return {
    status: 200,
    body: { success: true, data: { endedAt: endedAt.toISOString() } },
    headers: { "Set-Cookie": deps.pageSessions.clearedCookie() },
  };
});

const signed = { message: messageSchema, signature: signatureSchema };

const manageKeys = defineRoute({
  ...shared,
  name: "sessions.keys",
  method: "POST",
  path: `${PATH}/keys`,
  summary: "Lists, revokes or freezes the agent's keys, for a text that the wallet has signed for this",
  limitClass: "registration",
  body: z
    .discriminatedUnion("action", [
      z.strictObject({ action: z.literal("list"), ...signed }),
      z.strictObject({ action: z.literal("revoke"), keyId: z.string().regex(/^key_[0-9a-z]{1,64}$/), ...signed }),
      z.strictObject({ action: z.literal("freeze"), ...signed }),
    ])
    .meta({ id: "KeyManagementRequest" }),
  storesResponse: false,
  responses: { 200: listOf(keyOutput) },
  errors: [
    ...SESSION_ERRORS,
    "sign_in_message_invalid",
    "signature_invalid",
    "nonce_already_used",
    "not_found",
    "service_unavailable",
  ],
}).handle(async (request, deps: SessionDeps) => {
  const { session } = await currentOf("POST", request, deps);
  const keys = await deps.keyManagement.perform(session, session.keyId, request.body);
  const data = keys.map((key) => presentKey(key, undefined, deps.now()));
  return { status: 200, body: { success: true, data, nextCursor: null } };
});

/** The only statements with which a wallet agrees to what a page does with the secret of its webhooks. */
const SECRET_STATEMENTS = {
  read: "Webhook secret: show it.",
  rotate: "Webhook secret: make the next one.",
  activate: "Webhook secret: activate the next one.",
} as const;
const SECRET_ACTIONS = ["read", "rotate", "activate"] as const;

const manageSecret = defineRoute({
  ...shared,
  name: "sessions.webhookSecret",
  method: "POST",
  path: `${PATH}/webhook-secret`,
  summary:
    "Shows, rotates or activates the secret of the agent's webhooks, for a text that the wallet has signed for this",
  limitClass: "registration",
  body: z.strictObject({ action: z.enum(SECRET_ACTIONS), ...signed }).meta({ id: "WebhookSecretRequest" }),
  storesResponse: false,
  responses: { 200: secretAnswer },
  errors: [
    ...SESSION_ERRORS,
    "sign_in_message_invalid",
    "signature_invalid",
    "nonce_already_used",
    "service_unavailable",
  ],
}).handle(async (request, deps: SessionDeps & SecretDeps) => {
  const { session } = await currentOf("POST", request, deps);
  const { action, ...text } = request.body;
  await deps.useSignedText(session.walletAddress, SECRET_STATEMENTS[action], text);
  const { webhookSecrets } = deps;
  const perform = {
    read: () => webhookSecrets.stateOf(session.agentId),
    rotate: () => webhookSecrets.rotate(session.agentId),
    activate: () => webhookSecrets.activate(session.agentId),
  }[action];
  return { status: 200, body: presentSecret(await perform()), headers: { "Cache-Control": "no-store" } };
});

export const sessionRoutes = [openSession, readSession, endSession, manageKeys, manageSecret];
