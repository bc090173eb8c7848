import { z } from "zod";

import {
  ABANDONMENT_GRACE_SECONDS,
  DELIVERY_DEADLINE_SECONDS,
  DISPUTE_WINDOW_SECONDS,
} from "../../config/constants.ts";
import { dataOf, jsonObject, networkSchema, webUrlSchema } from "../../http/common-schemas.ts";
import { contractCall } from "../transactions/schemas.ts";

const MAX_QUANTITY = 1_000_000;
const MAX_CHECKS = 50;
const MAX_CHECK_LENGTH = 500;

const seconds = (range: { min: number; max: number; default: number }) =>
  z.int().min(range.min).max(range.max).default(range.default).meta({ description: "seconds" });

/** Body of a checkout (specification 2.3, decisions 3 to 5). */
export const checkoutBody = z.strictObject({
  serviceId: z.string().min(1).max(100),
  quantity: z.int().min(1).max(MAX_QUANTITY).default(1),
  paymentMethod: z
    .string()
    .regex(/^[a-z0-9]{1,16}$/, "must be the lower-case name of a token, for example usdc")
    .meta({ description: "`usdc` or `weth`" }),
  callbackUrl: webUrlSchema.optional(),
  requestPayload: jsonObject.optional(),
  disputeWindow: seconds(DISPUTE_WINDOW_SECONDS),
  abandonmentGrace: seconds(ABANDONMENT_GRACE_SECONDS),
  deliveryDeadlineSeconds: seconds(DELIVERY_DEADLINE_SECONDS),
  network: networkSchema.optional().meta({ description: "Must be the network of the service when given" }),
  criteria: z
    .strictObject({
      schema: jsonObject.optional().meta({ description: "JSON Schema that the result must match" }),
      checks: z.array(z.string().min(1).max(MAX_CHECK_LENGTH)).max(MAX_CHECKS).optional(),
    })
    .optional(),
});

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const bytes32 = z.string().regex(/^0x[0-9a-f]{64}$/);
const units = z.string().regex(/^\d+$/);

/** Answer of a checkout: everything that the buyer's wallet needs. */
export const checkoutAnswer = dataOf(
  z.object({
    transactionId: z.string(),
    paymentInstructions: z.object({
      escrowContract: address,
      escrowId: bytes32,
      sellerAddress: address,
      tokenAddress: address,
      amount: units.meta({ description: "Gross deposit in token units, the 2% fee included" }),
      disputeWindow: z.int(),
      abandonmentGrace: z.int(),
      criteriaHash: bytes32,
      fundEndpoint: z.string(),
      network: networkSchema,
      chainId: z.int(),
      deadline: z.int().meta({ description: "Unix seconds until which the seller may deliver" }),
      quoteExpiresAt: z.iso.datetime(),
      platformFee: units.meta({ description: "Part of the deposit that is never given back" }),
      refundableAmount: units.meta({
        description: "What a refund or an abandonment gives back: the deposit less the fee",
      }),
      calls: z.array(contractCall).meta({ description: "approve and createEscrow, ready to be sent in this order" }),
    }),
  }),
);
