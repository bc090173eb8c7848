import { z } from "zod";

import { NETWORKS } from "../../config/constants.ts";
import { DISPUTE_OUTCOMES, ESCROW_EVENT_TYPES } from "../../indexer/schemas.ts";
import { contractCall, dataOf, intentIdSchema, jsonObject, listOf } from "../../http/common-schemas.ts";
import { pageCursor, pageLimit, queryInteger } from "../../http/query-params.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { MOVE_REASONS } from "./deadlines.ts";
import { TRANSACTION_STATUSES } from "./model.ts";

/** An amount in token units as a decimal string. */
const units = z.string().regex(/^\d+$/);
const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const bytes32 = z.string().regex(/^0x[0-9a-fA-F]{64}$/);
const timestamp = z.iso.datetime();
const unixSeconds = z.int().nonnegative();

const availableUntil = timestamp.nullable().meta({ description: "Last moment for the step; null if it stays open" });

/** A next step as a call for the caller's wallet. */
const callAction = z
  .object({
    action: z.enum([
      "approve",
      "createEscrow",
      "submitDelivery",
      "accept",
      "openDispute",
      "finalize",
      "claimAbandoned",
      "refund",
      "resolveExpired",
    ]),
    ...contractCall.shape,
    availableUntil,
  })
  .meta({ id: "CallAction" });

/** A next step as a request to this service. */
const requestAction = z
  .object({
    action: z.enum(["deliver", "checkout"]),
    method: z.literal("POST"),
    path: z.string(),
    bodySchema: jsonObject.meta({ description: "JSON Schema of the body" }),
    body: jsonObject
      .optional()
      .meta({ description: "`checkout`: a body that orders the same again, ready to be sent" }),
    description: z.string(),
    availableUntil,
  })
  .meta({ id: "RequestAction" });

const action = z.union([callAction, requestAction]);

const timelineEntry = z.object({
  event: z.enum(["CheckedOut", ...ESCROW_EVENT_TYPES, "PayloadReceived"]),
  at: timestamp,
  txHash: bytes32.nullable(),
  blockNumber: z.int().nullable(),
});

/** A transaction in an answer to one of its parties. */
export const transaction = z
  .object({
    id: z.string(),
    transactionId: z.string(),
    serviceId: z.string().nullable(),
    serviceTitle: z.string().nullable(),
    buyerAgentId: z.string().nullable(),
    sellerAgentId: z.string().nullable(),
    buyerAddress: address,
    sellerAddress: address,
    network: z.enum(NETWORKS),
    chainId: z.int(),
    escrowId: bytes32,
    escrowContract: address,
    token: address,
    currency: z.string().meta({ description: "Symbol of the token that the deal settles in" }),
    amount: units.meta({ description: "Gross deposit in token units" }),
    lockedAmount: units.meta({ description: "Deposit minus the fee, in token units" }),
    platformFee: units.meta({ description: "2% of the deposit, rounded up, in token units; never refunded" }),
    quantity: z.int(),
    criteriaHash: bytes32,
    disputeWindow: z.int().meta({ description: "seconds" }),
    abandonmentGrace: z.int().meta({ description: "seconds" }),
    deadline: unixSeconds.meta({ description: "Last moment at which the seller may deliver, in unix seconds" }),
    deadlineAt: timestamp,
    quoteExpiresAt: timestamp.nullable(),
    status: z.enum(TRANSACTION_STATUSES),
    expiredBy: z.enum(["quote", "escrow_id_taken"]).nullable(),
    requestPayload: jsonObject.nullable(),
    responsePayload: jsonObject
      .nullable()
      .meta({ description: "Hidden from the buyer until the delivery is on chain" }),
    deliveryProof: bytes32.nullable().meta({ description: "SHA-256 of the canonical JSON of responsePayload" }),
    proofHash: bytes32.nullable().meta({ description: "What the seller committed to on chain" }),
    proofVerified: z.literal(true).nullable().meta({
      description: "true if deliveryProof equals proofHash; otherwise null, because other commitments are allowed",
    }),
    callbackUrl: z.string().nullable(),
    intentId: z.string().optional().meta({ description: "For the buyer, of a checkout that had one" }),
    fundTxHash: bytes32.nullable(),
    late: z.boolean().meta({ description: "Funded in a block after the quote's end, so the seller may refund" }),
    unsolicited: z.boolean().meta({ description: "Created on chain without a checkout" }),
    automatic: z.boolean().nullable(),
    disputeId: z.string().nullable().meta({ description: "Null unless the buyer has opened a dispute" }),
    outcome: z.enum(DISPUTE_OUTCOMES).nullable(),
    buyerAmount: units.nullable(),
    sellerAmount: units.nullable(),
    deliveredAt: timestamp.nullable(),
    settledAt: timestamp.nullable(),
    timeline: z.array(timelineEntry),
    indexedBlock: z.int().nullable().meta({ description: "Subgraph block at which this state was read" }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "Transaction" });

/** A transaction and the caller's possible next steps. */
export const transactionWithActions = transaction
  .and(
    z.object({
      actions: z.array(action),
      sellerEndpoint: z
        .object({ url: z.string(), jobToken: z.string() })
        .optional()
        .meta({
          description:
            "For the buyer of a funded `api_response` job: where to call the seller, and a token that names the job (JWS, " +
            "HS256 with the seller's webhook secret)",
        }),
    }),
  )
  .meta({ id: "TransactionWithActions" });

/** A transaction whose delivery isn't on chain yet, with the call that commits to it. */
export const pendingDelivery = transaction
  .and(z.object({ submitDelivery: contractCall.nullable() }))
  .meta({ id: "PendingDelivery" });

export const transactionAnswer = dataOf(transaction);
export const transactionWithActionsAnswer = dataOf(transactionWithActions);
export const pendingDeliveryAnswer = dataOf(pendingDelivery);
export const transactionListAnswer = listOf(transaction);

const reason = z
  .enum(MOVE_REASONS)
  .nullable()
  .meta({
    id: "MoveObstacle",
    description:
      "Why the chain doesn't accept the call now; null if it does. `too_early`: it will, from the given time on. Any " +
      "other reason names the deal's state, and the time is null",
  });

const indexedBlock = z.int().meta({ description: "Subgraph block at which the deal's state was read" });

/** The call for a buyer to reclaim or for anyone to finalize, and when the chain starts to accept it. */
export const claimAbandonedAnswer = dataOf(
  contractCall
    .omit({ description: true })
    .extend({ claimable: z.boolean(), claimableAt: timestamp.nullable(), reason, indexedBlock })
    .meta({ id: "ClaimCall" }),
);
export const finalizeAnswer = dataOf(
  contractCall
    .omit({ description: true })
    .extend({ finalizable: z.boolean(), finalizableAt: timestamp.nullable(), reason, indexedBlock })
    .meta({ id: "FinalizeCall" }),
);
export const criteriaAnswer = dataOf(
  z.object({ transactionId: z.string(), criteriaHash: bytes32, criteria: jsonObject }).meta({ id: "AgreedCriteria" }),
);

export const transactionParams = z.strictObject({ id: z.string().min(1).max(100) });

/** GraphQL's largest `Int`, the limit of the subgraph's block numbers. */
const MAX_BLOCK = 2 ** 31 - 1;

export const readQuery = z.strictObject({
  minBlock: queryInteger({
    min: 0,
    max: MAX_BLOCK,
    description:
      "Block of the caller's own transaction. The answer is never older (503 if the subgraph doesn't reach it)",
  }).optional(),
});

/** Position in a list: the last transaction of the previous page. */
export const listPosition = z.strictObject({ after: z.string().max(100) });

export const listQuery = z
  .strictObject({
    status: z.enum(TRANSACTION_STATUSES).optional(),
    role: z.enum(["buyer", "seller"]).optional(),
    network: z.enum(NETWORKS).optional(),
    serviceId: z.string().min(1).max(100).optional(),
    intentId: intentIdSchema.optional(),
    limit: pageLimit,
    cursor: pageCursor(listPosition).optional(),
  })
  .refine(({ role, intentId }) => role !== "seller" || intentId === undefined, {
    path: ["intentId"],
    message: "Requires role=buyer: an intent is the buyer's",
  });

const txHash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, "must be a transaction hash: 0x and 64 hexadecimal characters")
  .transform((text) => text.toLowerCase() as `0x${string}`);

export const fundBody = z.strictObject({ txHash }).meta({ id: "FundRequest", examples: [{ txHash: EXAMPLE.hash }] });
export const deliverBody = z.strictObject({ responsePayload: jsonObject, txHash: txHash.optional() }).meta({
  id: "DeliverRequest",
  examples: [{ responsePayload: { summary: "The owner can pause" }, txHash: EXAMPLE.hash }],
});
/** `deliverBody` as JSON Schema, for the `deliver` action. */
export const DELIVER_BODY_SCHEMA = {
  type: "object",
  properties: {
    responsePayload: { type: "object", description: "The result of the job; it can't be changed later" },
    txHash: {
      type: "string",
      pattern: "^0x[0-9a-fA-F]{64}$",
      description: "Transaction of submitDelivery, if it has already been sent",
    },
  },
  required: ["responsePayload"],
  additionalProperties: false,
} as const;
/** Body of a checkout as JSON Schema, for the `checkout` action. The checkout route validates the request itself. */
export const CHECKOUT_BODY_SCHEMA = {
  type: "object",
  properties: {
    serviceId: { type: "string" },
    quantity: { type: "integer", minimum: 1 },
    paymentMethod: { type: "string", description: "`usdc` or `weth`" },
    callbackUrl: { type: "string" },
    requestPayload: { type: "object" },
    disputeWindow: { type: "integer", description: "seconds" },
    abandonmentGrace: { type: "integer", description: "seconds" },
    deliveryDeadlineSeconds: { type: "integer", description: "seconds" },
    network: { type: "string", description: "If given, must be the network of the service" },
    intentId: { type: "string", description: "The same for every retry of this purchase" },
    again: { type: "boolean", description: "Buy although an open deal has the same service and payload" },
    criteria: { type: "object", description: "`schema` and `checks` that the result must satisfy" },
  },
  required: ["serviceId", "paymentMethod"],
  additionalProperties: false,
} as const;
