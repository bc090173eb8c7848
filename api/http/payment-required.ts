import { z } from "zod";

import { CALL_CLASSES } from "../config/constants.ts";
import type { CallClass } from "../config/constants.ts";
import { addressOutput, timestampOutput } from "./common-schemas.ts";

/** A daily budget as a request finds it. */
export interface BudgetState {
  type: CallClass;
  /** Calls that count, including those under way. */
  used: number;
  limit: number;
  /** Midnight UTC. */
  resetsAt: Date;
  /** True if the budget has no call left. Then nothing was counted for this request. */
  exhausted: boolean;
}

/** How a call can be paid for. */
const paymentOutput = z.object({
  price: z.string().meta({ description: "Price in US dollars", examples: ["$0.0001"] }),
  network: z.string().meta({ description: "CAIP-2 id of the network to pay on", examples: ["eip155:84532"] }),
  payTo: addressOutput.meta({ description: "Recipient; the zero address if no payment is possible" }),
  available: z.boolean().meta({ description: "False if no payment is possible: wait for the reset" }),
  facilitatorUrl: z.url().nullable(),
  instructions: z.string(),
});

export type PaymentOffer = z.infer<typeof paymentOutput>;

/** Codes of the 402 that asks for a payment. */
export const PAYMENT_CODES = ["payment_required", "payment_verification_failed", "settlement_pending"] as const;
export type PaymentCode = (typeof PAYMENT_CODES)[number];

/** Body of a 402 for an exhausted budget or a prepaid pack, which official x402 v1 clients read too. */
export const paymentRequiredOutput = z
  .object({
    success: z.literal(false),
    error: z.literal("PAYMENT_REQUIRED"),
    code: z.enum(PAYMENT_CODES),
    message: z.string(),
    budget: z
      .object({
        type: z.enum(CALL_CLASSES),
        used: z.number().int(),
        limit: z.number().int(),
        resetAt: timestampOutput.meta({ description: "Midnight UTC" }),
      })
      .optional()
      .meta({ description: "The exhausted budget; missing where a prepaid pack is paid for" }),
    payment: paymentOutput,
    details: z
      .object({
        reason: z
          .string()
          .optional()
          .meta({ description: "`payment_verification_failed`: why the payment doesn't count" }),
        chainTime: z.number().optional(),
        wallTime: z.number().optional(),
        txHash: z
          .string()
          .optional()
          .meta({ description: "`settlement_pending`: the payment's transaction, if known" }),
      })
      .optional(),
    x402Version: z.literal(1).optional(),
    accepts: z
      .array(z.record(z.string(), z.unknown()))
      .optional()
      .meta({ description: "Payment requirements of x402 version 1; missing if no payment is asked for" }),
  })
  .meta({ id: "PaymentRequired" });

/** Why a payment doesn't count, or its transaction. */
export type PaymentDetails = z.infer<typeof paymentRequiredOutput>["details"];

/** The contents of a 402. */
export interface PaymentDemand {
  code: PaymentCode;
  message: string;
  budget: BudgetState | undefined;
  payment: PaymentOffer;
  details?: PaymentDetails;
  /** Payment requirements of x402 version 1; undefined if no signed payment is asked for. */
  accepts?: readonly Record<string, unknown>[] | undefined;
}

/** Composes the body of a 402. */
export function paymentRequiredBody(demand: PaymentDemand): z.infer<typeof paymentRequiredOutput> {
  const { code, message, budget, payment, details, accepts } = demand;
  return {
    success: false,
    error: "PAYMENT_REQUIRED",
    code,
    message,
    ...(budget === undefined
      ? {}
      : {
          budget: { type: budget.type, used: budget.used, limit: budget.limit, resetAt: budget.resetsAt.toISOString() },
        }),
    payment,
    ...(details === undefined ? {} : { details }),
    ...(accepts === undefined ? {} : { x402Version: 1 as const, accepts: [...accepts] }),
  };
}
