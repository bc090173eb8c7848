import { z } from "zod";

import {
  ABANDONMENT_GRACE_SECONDS,
  DELIVERY_DEADLINE_SECONDS,
  DISPUTE_WINDOW_SECONDS,
} from "../../config/constants.ts";
import {
  contractCall,
  dataOf,
  intentIdSchema,
  jsonObject,
  networkSchema,
  webUrlSchema,
} from "../../http/common-schemas.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { CHECK_LIMITS } from "../criteria/document.ts";
import { TRANSACTION_STATUSES } from "../transactions/model.ts";
import { GASLESS_OBSTACLES } from "./gasless.ts";

const MAX_QUANTITY = 1_000_000;

const seconds = (range: { min: number; max: number; default: number }) =>
  z.int().min(range.min).max(range.max).default(range.default).meta({ description: "seconds" });

/** Body of a checkout. */
export const checkoutBody = z
  .strictObject({
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
    network: networkSchema.optional().meta({ description: "If given, must be the network of the service" }),
    criteria: z
      .strictObject({
        schema: jsonObject
          .optional()
          .meta({ description: "JSON Schema (2020-12, or draft-07 if it says so) that the result must match" }),
        checks: z
          .array(z.string().min(1).max(CHECK_LIMITS.length))
          .max(CHECK_LIMITS.checks)
          .optional()
          .meta({
            description:
              "What else the result must satisfy: a CEL expression after `cel:`, which code evaluates, or a sentence, which a " +
              "judge reads",
          }),
      })
      .optional(),
    intentId: intentIdSchema.optional(),
    again: z.boolean().optional().meta({
      description: "Buy although an open deal under another `intentId` has the same service and payload",
    }),
  })
  .meta({
    id: "CheckoutRequest",
    examples: [
      {
        serviceId: EXAMPLE.service,
        quantity: 1,
        paymentMethod: "usdc",
        callbackUrl: "https://agent.example/hook",
        requestPayload: { token: EXAMPLE.token },
        disputeWindow: 3_600,
        criteria: {
          schema: { type: "object", required: ["summary"], properties: { summary: { type: "string" } } },
          checks: ["cel: words(result.summary) >= 3"],
        },
      },
    ],
  });

/** A checkout as a buyer asks for it. */
export type Order = z.output<typeof checkoutBody>;

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const bytes32 = z.string().regex(/^0x[0-9a-f]{64}$/);
const units = z.string().regex(/^\d+$/);

const typedDataFields = z.array(z.object({ name: z.string(), type: z.string() }));

/** Funding without gas: the data that the buyer signs, and the call that anyone sends with the signature. */
const gaslessFunding = z
  .object({
    typedData: z
      .object({
        domain: z.object({ name: z.string(), version: z.string(), chainId: z.int(), verifyingContract: address }),
        types: z.object({ EIP712Domain: typedDataFields, ReceiveWithAuthorization: typedDataFields }),
        primaryType: z.literal("ReceiveWithAuthorization"),
        message: z.object({
          from: address,
          to: address,
          value: units,
          validAfter: units,
          validBefore: units.meta({ description: "The quote's end in unix seconds" }),
          nonce: bytes32.meta({ description: "Hash of all the terms, as the escrow contract computes it" }),
        }),
      })
      .meta({ description: "EIP-3009 ReceiveWithAuthorization, for the buyer's wallet (eth_signTypedData_v4)" }),
    relay: z.object({
      to: address,
      value: z.literal("0"),
      chainId: z.int(),
      functionName: z.literal("createEscrowWithAuthorization"),
      abi: z.string().meta({ description: "The function in human-readable form" }),
      args: z
        .object({
          terms: z.object({
            escrowId: bytes32,
            buyer: address,
            seller: address,
            amount: units,
            token: address,
            deadline: units,
            disputeWindow: units,
            abandonmentGrace: units,
            criteriaHash: bytes32,
          }),
          validAfter: units,
          validBefore: units,
        })
        .meta({ description: "The arguments, to be followed by the signature" }),
      dataTemplate: z.string().meta({
        description:
          "Calldata for a plain wallet's signature: replace `{signature}` with its 130 hexadecimal digits, without 0x. " +
          "For a contract wallet's signature, encode `args`",
      }),
      description: z.string(),
    }),
  })
  .meta({ id: "GaslessFunding" });

/** Answer of a checkout: everything that the buyer's wallet needs. */
export const checkoutAnswer = dataOf(
  z
    .object({
      transactionId: z.string(),
      status: z.enum(TRANSACTION_STATUSES).optional().meta({ description: "With `intentId`: the deal's status now" }),
      paymentInstructions: z
        .object({
          escrowContract: address.meta({
            description: "Never to be paid by a plain transfer, which funds nothing and loses the tokens",
          }),
          escrowId: bytes32,
          sellerAddress: address,
          tokenAddress: address,
          amount: units.meta({ description: "Gross deposit in token units, the 2% fee included" }),
          disputeWindow: z.int(),
          recommendedDisputeWindow: z.int().meta({
            description:
              "The dispute window that this service advises for a deposit of this value, in seconds: 300 up to $25, 3,600 up to " +
              "$1,000, 86,400 above. It is only advice: check out again with `disputeWindow` to take it",
          }),
          abandonmentGrace: z.int(),
          criteriaHash: bytes32,
          fundEndpoint: z.string(),
          network: networkSchema,
          chainId: z.int(),
          deadline: z.int().meta({ description: "Last moment at which the seller may deliver, in unix seconds" }),
          deadlineAt: z.iso.datetime(),
          quoteExpiresAt: z.iso.datetime(),
          platformFee: units.meta({ description: "Part of the deposit that is never refunded" }),
          refundableAmount: units.meta({
            description: "What the buyer gets back on a refund or an abandonment: the deposit minus the fee",
          }),
          calls: z.array(contractCall).meta({
            description: "approve and createEscrow, to be sent in this order; empty once they would be refused",
          }),
          gasless: gaslessFunding.nullable().meta({
            description: "An alternative to `calls`: a signature that anyone may relay. Null if none would count",
          }),
          gaslessReason: z
            .enum(GASLESS_OBSTACLES)
            .nullable()
            .meta({
              description:
                "Why `gasless` is null: the token has no EIP-3009, the buyer's wallet has code (also by EIP-7702) and no ERC-1271, or " +
                "no quote is open",
            }),
          warning: z.string().meta({ description: "What loses the deposit, for people and language models" }),
        })
        .meta({ id: "PaymentInstructions" }),
    })
    .meta({ id: "Checkout" }),
);
