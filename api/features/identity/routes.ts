import { z } from "zod";

import { DESCRIPTION_MAX_LENGTH, REVOKE_OTHERS_MAX_SECONDS } from "../../config/constants.ts";
import { addressOutput, addressSchema, dataOf, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { textSchema } from "../../http/text-schema.ts";
import { EXAMPLE } from "../../http/examples.ts";
import type { ApiKeys } from "./keys.ts";
import type { IdentityService } from "./service.ts";

/** Dependencies of the routes for registration and keys. */
export interface IdentityDeps {
  identity: IdentityService;
  apiKeys: ApiKeys;
}

const AGENT_NAME_MAX_LENGTH = 100;
const MESSAGE_MAX_LENGTH = 4_000;

const messageSchema = z
  .string()
  .min(1)
  .max(MESSAGE_MAX_LENGTH)
  .meta({
    id: "SignInMessage",
    description:
      "EIP-4361 text: domain and URI of this service, chain id 84532 or 8453, a nonce of letters and digits used once, " +
      "issued within the last 10 minutes, with a statement that names its purpose; nothing else, and nothing after its end",
  });
const signatureSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{130}$/, "Must be an EIP-191 signature: 0x and 130 hexadecimal digits")
  .transform((text) => text as `0x${string}`)
  .meta({ override: { type: "string", pattern: "^0x[0-9a-fA-F]{130}$" } });

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
    "wallet_already_registered",
    "nonce_already_used",
    "service_unavailable",
  ],
}).handle(async ({ body }, { identity }: Pick<IdentityDeps, "identity">) => {
  const { agent, apiKey } = await identity.register(body);
  const { _id: agentId, walletAddress, publicKey } = agent;
  return { status: 201, body: { success: true, agentId, apiKey, walletAddress, publicKey } };
});

const issueKey = defineRoute({
  name: "keys.issue",
  scope: "none",
  method: "POST",
  path: "/api/v1/auth/keys",
  tag: "Agents",
  summary: "Issues a new API key for a signature of the wallet",
  description:
    'The statement of the signed message must contain the words "API key" and not "register". The agent\'s other keys end ' +
    "after `revokeOthersAfterSeconds`, which is 0 by default.",
  auth: "none",
  limitClass: "registration",
  budget: "none",
  body: z
    .strictObject({
      message: messageSchema,
      signature: signatureSchema,
      revokeOthersAfterSeconds: z.number().int().min(0).max(REVOKE_OTHERS_MAX_SECONDS).default(0),
    })
    .meta({
      id: "KeyRequest",
      examples: [{ message: EXAMPLE.keyRequest, signature: EXAMPLE.signature, revokeOthersAfterSeconds: 3_600 }],
    }),
  storesResponse: false,
  responses: {
    201: z
      .object({
        success: z.literal(true),
        agentId: z.string(),
        apiKey: apiKeyOutput,
        othersEndAt: timestampOutput.meta({ description: "When the agent's other keys end" }),
      })
      .meta({ id: "KeyAnswer" }),
  },
  errors: ["sign_in_message_invalid", "signature_invalid", "nonce_already_used", "not_found", "service_unavailable"],
}).handle(async ({ body }, { identity }: Pick<IdentityDeps, "identity">) => {
  const { agentId, apiKey, othersEndAt } = await identity.issueKey(body);
  return { status: 201, body: { success: true, agentId, apiKey, othersEndAt: othersEndAt.toISOString() } };
});

const revokeKey = defineRoute({
  name: "keys.revoke",
  scope: "none",
  method: "DELETE",
  path: "/api/v1/auth/keys",
  tag: "Agents",
  summary: "Revokes the key that the request is made with",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  storesResponse: false,
  responses: { 200: dataOf(z.object({ agentId: z.string(), revokedAt: timestampOutput }).meta({ id: "RevokedKey" })) },
}).handle(async ({ caller }, { apiKeys }: Pick<IdentityDeps, "apiKeys">) => {
  const revokedAt = await apiKeys.revoke(caller.agentId, caller.keyId);
  return {
    status: 200,
    body: { success: true, data: { agentId: caller.agentId, revokedAt: revokedAt.toISOString() } },
  };
});

export const identityRoutes = [register, issueKey, revokeKey];
