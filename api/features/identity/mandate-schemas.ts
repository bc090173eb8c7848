import { z } from "zod";

import { addressSchema, networkSchema, timestampOutput, usdOutput } from "../../http/common-schemas.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { SCOPES } from "../../http/scopes.ts";
import { categorySchema } from "../listings/schemas.ts";
import { ON_EXCEEDED } from "../mandates/model.ts";
import { mandateUsd } from "../mandates/usd.ts";

const MAX_LISTED = 50;
const MAX_HOST_LENGTH = 255;
const LATEST_SECONDS = 4_102_444_800;

const seconds = z.int().min(0).max(LATEST_SECONDS).meta({ description: "Unix seconds" });
const scope = z.enum(SCOPES).meta({ id: "Scope" });

/** A mandate as a request has it. */
export const mandateSchema = z
  .strictObject({
    wallet: addressSchema,
    host: z.string().min(1).max(MAX_HOST_LENGTH).meta({ description: "This service's, with its port" }),
    nonce: z.string().regex(/^[A-Za-z0-9]{8,128}$/, "Must have 8 to 128 letters and digits"),
    issuedAt: seconds.meta({ description: "Unix seconds, within the last 10 minutes" }),
    notAfter: seconds.meta({ description: "Unix seconds, within a year: when the key ends" }),
    perDealUsd: mandateUsd,
    perDayUsd: mandateUsd,
    totalUsd: mandateUsd,
    categories: z.array(categorySchema).max(MAX_LISTED).meta({ description: "An empty list bounds nothing" }),
    sellers: z.array(addressSchema).max(MAX_LISTED).meta({ description: "Wallets; an empty list bounds nothing" }),
    networks: z.array(networkSchema).max(2).meta({ description: "An empty list bounds nothing" }),
    requireCriteria: z.boolean().meta({ description: "Whether each checkout must have `criteria`" }),
    scopes: z.array(scope).min(1).max(SCOPES.length).meta({ description: "What the key may call" }),
    onExceeded: z.enum(ON_EXCEEDED).meta({ description: "`approval`: a checkout above an amount asks the wallet" }),
  })
  .meta({ id: "MandateRequest" });

/** A mandate of the descriptions' examples. */
export const MANDATE_EXAMPLE = {
  wallet: EXAMPLE.buyer,
  host: "market.example",
  nonce: "5f2b7c9e1d4a",
  issuedAt: EXAMPLE.deadline,
  notAfter: EXAMPLE.deadline + 86_400,
  perDealUsd: "5",
  perDayUsd: "12.50",
  totalUsd: "100",
  categories: ["accounting"],
  sellers: [],
  networks: ["base-sepolia"],
  requireCriteria: false,
  scopes: ["read", "buy"],
  onExceeded: "refuse",
};

/** A key and what its mandate has left. */
export const keyOutput = z
  .object({
    id: z.string(),
    keyId: z.string(),
    createdAt: timestampOutput,
    expiresAt: timestampOutput.nullable(),
    current: z.boolean().meta({ description: "Whether the request was made with it" }),
    mandate: z
      .object({
        perDealUsd: usdOutput,
        perDayUsd: usdOutput,
        totalUsd: usdOutput,
        categories: z.array(z.string()),
        sellers: z.array(z.string()),
        networks: z.array(networkSchema),
        requireCriteria: z.boolean(),
        scopes: z.array(scope),
        onExceeded: z.enum(ON_EXCEEDED),
        left: z.object({ perDealUsd: usdOutput, todayUsd: usdOutput, totalUsd: usdOutput }),
        dayEndsAt: timestampOutput,
        closed: z
          .boolean()
          .meta({ description: "Whether nothing new can be bought, because a deal was funded after it had expired" }),
      })
      .nullable()
      .meta({ description: "Null for a key without one" }),
  })
  .meta({ id: "Key" });
