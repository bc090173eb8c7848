import { z } from "zod";

import { DESCRIPTION_MAX_LENGTH, REVOKE_OTHERS_MAX_SECONDS } from "../../config/constants.ts";
import { addressOutput, addressSchema, dataOf, listOf, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { textSchema } from "../../http/text-schema.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { ApiError, validationError } from "../../http/errors.ts";
import { isFromPage } from "../../http/page-session.ts";
import type { ApiKeys } from "./keys.ts";
import { keyOutput, MANDATE_EXAMPLE, mandateSchema } from "./mandate-schemas.ts";
import type { IssueMandatedKey } from "./mandated-keys.ts";
import { presentKey } from "./present-key.ts";
import type { IdentityService } from "./service.ts";
import { messageSchema, signatureSchema } from "./sign-in-schemas.ts";

/** Dependencies of the routes for registration and keys. */
export interface IdentityDeps {
  identity: IdentityService;
  apiKeys: ApiKeys;
  issueMandatedKey: IssueMandatedKey;
  now: () => Date;
}

const AGENT_NAME_MAX_LENGTH = 100;

const publicKeyOutput = z
  .string()
  .regex(/^0x04[0-9a-f]{128}$/)
  .meta({ description: "Uncompressed secp256k1 key" });
const apiKeyOutput = z
  .string()
  .regex(/^svc_[0-9a-f]{64}$/)
  .meta({ description: "Shown only this once: the service stores just its hash" });

const register = defineRoute({
  name: "agents.register",
  scope: "none",
  method: "POST",
  path: "/api/v1/auth/register",
  tag: "Agents",
  summary: "Registers a wallet as an agent",
  description:
    'The statement of the signed message must contain the word "register" and not "API key". The public key is recovered ' +
    "from the signature. One wallet is one agent.",
  auth: "none",
  limitClass: "registration",
  budget: "none",
  body: z
    .strictObject({
      agentName: textSchema({ kind: "name", max: AGENT_NAME_MAX_LENGTH }),
      walletAddress: addressSchema,
      message: messageSchema,
      signature: signatureSchema,
      description: textSchema({ kind: "longText", max: DESCRIPTION_MAX_LENGTH }).optional(),
    })
    .meta({
      id: "RegistrationRequest",
      examples: [
        {
          agentName: "Ledger Lines",
          walletAddress: EXAMPLE.seller,
          message: EXAMPLE.registration,
          signature: EXAMPLE.signature,
          description: "Keeps books",
        },
      ],
    }),
  storesResponse: false,
  responses: {
    201: z
      .object({
        success: z.literal(true),
        agentId: z.string(),
        apiKey: apiKeyOutput,
        walletAddress: addressOutput,
        publicKey: publicKeyOutput,
      })
      .meta({ id: "RegistrationAnswer" }),
  },
  errors: [
    "sign_in_message_invalid",
    "signature_invalid",
    "wallet_not_of_stack",
    "wallet_already_registered",
    "nonce_already_used",
    "service_unavailable",
  ],
}).handle(async ({ body, headers }, { identity }: Pick<IdentityDeps, "identity">) => {
  const { agent, apiKey } = await identity.register({ ...body, isFromPage: isFromPage(headers) });
  const { _id: agentId, walletAddress, publicKey } = agent;
  return { status: 201, body: { success: true, agentId, apiKey, walletAddress, publicKey } };
});

/** Either a signed text, or a mandate and its signature. */
const keyRequest = z
  .strictObject({
    message: messageSchema.optional(),
    mandate: mandateSchema
      .optional()
      .meta({ description: "Instead of `message`: EIP-712, [mandates](/guides/mandates)" }),
    signature: signatureSchema,
    revokeOthersAfterSeconds: z
      .number()
      .int()
      .min(0)
      .max(REVOKE_OTHERS_MAX_SECONDS)
      .optional()
      .meta({ description: "0 by default; not with a mandate, which ends no other key" }),
  })
  .meta({
    id: "KeyRequest",
    examples: [
      { message: EXAMPLE.keyRequest, signature: EXAMPLE.signature, revokeOthersAfterSeconds: 3_600 },
      { mandate: MANDATE_EXAMPLE, signature: EXAMPLE.signature },
    ],
  });

const issueKey = defineRoute({
  name: "keys.issue",
  scope: "none",
  method: "POST",
  path: "/api/v1/auth/keys",
  tag: "Agents",
  summary: "Issues a new API key for a signature of the wallet",
  description:
    'The statement of the signed message must contain the words "API key" and not "register". The agent\'s other keys without ' +
    "a mandate end after `revokeOthersAfterSeconds`. With `mandate` instead of `message`, the key can do and spend no more than " +
    "the wallet has signed, and no other key ends.",
  auth: "none",
  limitClass: "registration",
  budget: "none",
  body: keyRequest,
  storesResponse: false,
  responses: {
    201: z
      .object({
        success: z.literal(true),
        agentId: z.string(),
        apiKey: apiKeyOutput,
        keyId: z.string(),
        expiresAt: timestampOutput.nullable().meta({ description: "When the key ends; null without a mandate" }),
        othersEndAt: timestampOutput.nullable().meta({
          description: "When the agent's other keys without a mandate end; null with a mandate, which ends none",
        }),
      })
      .meta({ id: "KeyAnswer" }),
  },
  errors: [
    "sign_in_message_invalid",
    "signature_invalid",
    "nonce_already_used",
    "mandate_limit_reached",
    "not_found",
    "service_unavailable",
  ],
}).handle(async ({ body }, { identity, issueMandatedKey }: Pick<IdentityDeps, "identity" | "issueMandatedKey">) => {
  const { message, mandate, signature, revokeOthersAfterSeconds } = body;
  if (mandate === undefined) {
    if (message === undefined) throw invalid("message", "Required without a mandate");
    const request = { message, signature, revokeOthersAfterSeconds: revokeOthersAfterSeconds ?? 0 };
    const { othersEndAt, ...issued } = await identity.issueKey(request);
    const body = { success: true as const, ...issued, expiresAt: null, othersEndAt: othersEndAt.toISOString() };
    return { status: 201, body };
  }
  if (message !== undefined) throw invalid("message", "Must not be given with a mandate");
  if (revokeOthersAfterSeconds !== undefined) {
    throw invalid("revokeOthersAfterSeconds", "Must not be given with a mandate, which ends no other key");
  }
  const { expiresAt, ...issued } = await issueMandatedKey({ mandate, signature });
  return { status: 201, body: { success: true, ...issued, expiresAt: expiresAt.toISOString(), othersEndAt: null } };
});

const invalid = (field: string, message: string) => validationError([{ path: `body.${field}`, message }]);

const revokedKey = dataOf(z.object({ agentId: z.string(), revokedAt: timestampOutput }).meta({ id: "RevokedKey" }));
const keyManagement = {
  tag: "Agents",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  storesResponse: false,
} as const;

const revokeKey = defineRoute({
  name: "keys.revoke",
  scope: "none",
  ...keyManagement,
  method: "DELETE",
  path: "/api/v1/auth/keys",
  summary: "Revokes the key that the request is made with",
  responses: { 200: revokedKey },
}).handle(async ({ caller }, { apiKeys, now }: Pick<IdentityDeps, "apiKeys" | "now">) => {
  const revokedAt = (await apiKeys.revoke(caller.agentId, caller.keyId)) ?? now();
  return {
    status: 200,
    body: { success: true, data: { agentId: caller.agentId, revokedAt: revokedAt.toISOString() } },
  };
});

const revokeKeyById = defineRoute({
  name: "keys.revokeById",
  scope: "none",
  ...keyManagement,
  method: "DELETE",
  path: "/api/v1/auth/keys/{keyId}",
  summary: "Revokes a key of the agent, and with it its mandate",
  params: z.strictObject({ keyId: z.string().max(100) }),
  responses: { 200: revokedKey },
  errors: ["not_found"],
}).handle(async ({ params: { keyId }, caller }, { apiKeys }: Pick<IdentityDeps, "apiKeys">) => {
  const revokedAt = await apiKeys.revoke(caller.agentId, keyId);
  if (revokedAt === undefined) throw new ApiError("not_found", { details: { keyId } });
  return {
    status: 200,
    body: { success: true, data: { agentId: caller.agentId, revokedAt: revokedAt.toISOString() } },
  };
});

const freezeKeys = defineRoute({
  name: "keys.freeze",
  scope: "none",
  ...keyManagement,
  method: "POST",
  path: "/api/v1/auth/keys/freeze",
  summary:
    "Revokes every key of the agent but the one that the request is made with, every mandate, and the sessions of web pages",
  responses: { 200: revokedKey },
}).handle(async ({ caller: { agentId, keyId } }, { apiKeys }: Pick<IdentityDeps, "apiKeys">) => {
  const revokedAt = await apiKeys.freeze(agentId, keyId);
  return { status: 200, body: { success: true, data: { agentId, revokedAt: revokedAt.toISOString() } } };
});

const listKeys = defineRoute({
  name: "keys.list",
  scope: "none",
  ...keyManagement,
  method: "GET",
  path: "/api/v1/auth/keys",
  summary: "The agent's keys, without the keys themselves, and what their mandates have left",
  responses: { 200: listOf(keyOutput) },
}).handle(async ({ caller: { agentId, keyId } }, { apiKeys, now }: Pick<IdentityDeps, "apiKeys" | "now">) => {
  const keys = await apiKeys.list(agentId);
  const data = keys.map((key) => presentKey(key, keyId, now()));
  return { status: 200, body: { success: true, data, nextCursor: null } };
});

export const identityRoutes = [register, issueKey, listKeys, revokeKey, revokeKeyById, freezeKeys];
