import { z } from "zod";

import { KYA_LEVELS } from "../../config/constants.ts";
import { addressSchema, dataOf, networkSchema } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { textSchema } from "../../http/text-schema.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { kyaLevelSchema, kyaOutput, kyaStatusOf } from "../agents/kya-status.ts";
import type { KyaLevels } from "./levels.ts";
import { KYA_VERIFICATIONS } from "./model.ts";
import type { LinkPaymentMethod } from "./payment-method.ts";

/** Dependencies of the KYA routes. */
export interface KyaDeps {
  kyaLevels: KyaLevels;
  linkPaymentMethod: LinkPaymentMethod;
}

const REASON_MAX_LENGTH = 1_000;
const HIGHEST_LEVEL = KYA_LEVELS[3];

const kyaAnswer = dataOf(z.object({ agentId: z.string(), kya: kyaOutput }).meta({ id: "AgentKya" }));

const hexSchema = (bytes: number) =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-fA-F]{${2 * bytes}}$`), `Must be 0x and ${2 * bytes} hexadecimal digits`)
    .transform((text) => text.toLowerCase() as `0x${string}`)
    .meta({ override: { type: "string", pattern: `^0x[0-9a-fA-F]{${2 * bytes}}$` } });

const linkMethod = defineRoute({
  name: "kya.linkPaymentMethod",
  scope: "none",
  method: "POST",
  path: "/api/v1/agents/kya/payment-method",
  tag: "Agents",
  summary: "Links a payment method: KYA level 2",
  description:
    "The agent's wallet signs the EIP-712 statement `PaymentMethod(string agentId,address wallet,string network," +
    "address token,bytes32 nonce,uint256 deadline)` in the domain `{name: 'Agent Marketplace', version: '1', chainId, " +
    "verifyingContract: <escrow contract>}`. `deadline` (unix seconds) is at most an hour ahead, and each nonce works " +
    "once. The wallet must hold the smallest deposit of an escrow token on that network, or have allowed it to the " +
    "escrow contract. Nothing is transferred. A level that an admin has lowered isn't raised.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  body: z
    .strictObject({
      network: networkSchema,
      token: addressSchema,
      nonce: hexSchema(32).meta({ description: "32 random bytes" }),
      deadline: z.int().min(0).meta({ description: "Unix seconds" }),
      signature: hexSchema(65),
    })
    .meta({
      id: "PaymentMethodRequest",
      examples: [
        {
          network: "base-sepolia",
          token: EXAMPLE.token,
          nonce: EXAMPLE.hash,
          deadline: EXAMPLE.deadline,
          signature: EXAMPLE.signature,
        },
      ],
    }),
  responses: { 200: kyaAnswer },
  errors: [
    "signature_invalid",
    "nonce_already_used",
    "payment_method_empty",
    "payment_method_not_supported",
    "not_found",
    "chain_unavailable",
  ],
}).handle(async ({ body, caller, requestId, operation }, { linkPaymentMethod }: Pick<KyaDeps, "linkPaymentMethod">) => {
  const level = await linkPaymentMethod(caller, body, { requestId, operation });
  return { status: 200, body: { success: true, data: { agentId: caller.agentId, kya: kyaStatusOf(level) } } };
});

const setLevel = defineRoute({
  name: "kya.setLevel",
  scope: "none",
  method: "POST",
  path: "/api/v1/admin/agents/{id}/kya",
  tag: "Admin",
  summary: "Sets an agent's KYA level",
  description:
    "Level 3 is for an agent whose codebase or identity was verified. A lower level than the present one stays until an " +
    "admin sets a higher one: no mail or payment method raises it. Exists only with `ADMIN_API_KEY`; every use of that " +
    "key is audited.",
  auth: "admin",
  limitClass: "keyless",
  budget: "none",
  params: z.strictObject({ id: z.string().min(1).max(64) }),
  body: z
    .strictObject({
      level: kyaLevelSchema,
      reason: textSchema({ kind: "longText", max: REASON_MAX_LENGTH }),
      verification: z
        .enum(KYA_VERIFICATIONS)
        .optional()
        .meta({ description: "What was verified; required for level 3 and only allowed there" }),
    })
    .superRefine(({ level, verification }, context) => {
      if ((level === HIGHEST_LEVEL) === (verification !== undefined)) return;
      const message = level === HIGHEST_LEVEL ? "Level 3 requires a verification" : "Only level 3 has a verification";
      context.addIssue({ code: "custom", path: ["verification"], message });
    })
    .meta({ id: "KyaLevelRequest" }),
  responses: { 200: kyaAnswer },
  errors: ["not_found"],
}).handle(async ({ params, body, requestId, operation }, { kyaLevels }: Pick<KyaDeps, "kyaLevels">) => {
  const { level, reason, verification } = body;
  const why = { cause: "admin", reason, requestId, ...(verification === undefined ? {} : { verification }) } as const;
  await kyaLevels.set(params.id, level, why, operation);
  return { status: 200, body: { success: true, data: { agentId: params.id, kya: kyaStatusOf(level) } } };
});

export const kyaRoutes = [linkMethod, setLevel];
