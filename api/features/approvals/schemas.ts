import { z } from "zod";

import { jsonObject, networkSchema, timestampOutput, usdOutput } from "../../http/common-schemas.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { usdText, mandateUsd } from "../mandates/usd.ts";
import { APPROVAL_STATUSES } from "./approvals.ts";
import type { StandingApproval } from "./approvals.ts";

const LATEST_SECONDS = 4_102_444_800;
const MAX_HOST_LENGTH = 255;

const requestHash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/)
  .transform((text) => text as `0x${string}`);

/** Body of a grant. */
export const grantBody = z
  .strictObject({
    host: z.string().min(1).max(MAX_HOST_LENGTH).meta({ description: "This service's, with its port" }),
    keyId: z.string().min(1).max(100),
    network: networkSchema,
    requestHash: requestHash.meta({ override: { type: "string", pattern: "^0x[0-9a-f]{64}$" } }),
    maxUsd: mandateUsd,
    expiresAt: z.int().min(0).max(LATEST_SECONDS).meta({ description: "Unix seconds, not after the approval's own" }),
    signature: z
      .string()
      .regex(/^0x[0-9a-fA-F]{130}$/, "Must be an EIP-712 signature: 0x and 130 hexadecimal digits")
      .transform((text) => text as `0x${string}`)
      .meta({ override: { type: "string", pattern: "^0x[0-9a-fA-F]{130}$" } }),
  })
  .meta({
    id: "GrantRequest",
    examples: [
      {
        host: "market.example",
        keyId: "key_019aa5c0b3f1d2c4a9e07b5f6d812233",
        network: "base-sepolia",
        requestHash: `0x${"3f".repeat(32)}`,
        maxUsd: "12.50",
        expiresAt: EXAMPLE.deadline,
        signature: EXAMPLE.signature,
      },
    ],
  });

/** An approval as the API answers it. */
export const approvalOutput = z
  .object({
    id: z.string(),
    status: z.enum(APPROVAL_STATUSES),
    keyId: z.string(),
    network: networkSchema,
    request: jsonObject.meta({ description: "The checkout's body with its defaults: what another one wrote" }),
    serviceTitle: z.string().meta({ description: "The seller's words, when it was asked for" }),
    sellerAddress: z.string(),
    requestHash: z.string().meta({ description: "SHA-256 of the canonical JSON (RFC 8785) of `request`" }),
    bound: z.string().meta({ description: "The field of the mandate that the checkout is above" }),
    askedUsd: usdOutput.meta({ description: "Value of the deposit when it was asked for" }),
    maxUsd: usdOutput.nullable().meta({ description: "The most that the wallet has approved" }),
    transactionId: z.string().nullable().meta({ description: "The deal that used it" }),
    createdAt: timestampOutput,
    expiresAt: timestampOutput,
    decidedAt: timestampOutput.nullable(),
  })
  .meta({ id: "Approval" });

/** An approval as the API answers it. */
export function presentApproval({ approval, status }: StandingApproval): z.input<typeof approvalOutput> {
  const { _id: id, keyId, network, requestJson, requestHash: hash, bound, maxUsd, transactionId } = approval;
  return {
    id,
    status,
    keyId,
    network,
    request: JSON.parse(requestJson) as Record<string, unknown>,
    serviceTitle: approval.serviceTitle,
    sellerAddress: approval.sellerAddress,
    requestHash: hash,
    bound,
    askedUsd: usdText(BigInt(approval.askedUsd)),
    maxUsd: maxUsd === null ? null : usdText(BigInt(maxUsd)),
    transactionId,
    createdAt: approval.createdAt.toISOString(),
    expiresAt: approval.expiresAt.toISOString(),
    decidedAt: approval.decidedAt?.toISOString() ?? null,
  };
}
