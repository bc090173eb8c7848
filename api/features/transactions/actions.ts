import { approveCall, createEscrowCall, moveCall, submitDeliveryCall } from "../../chain/calldata.ts";
import type { CallTarget, ContractCall } from "../../chain/calldata.ts";
import { QUOTE_SECONDS } from "../../config/constants.ts";
import type { TransactionRecord } from "./model.ts";
import { isOpen, nextMoves } from "./moves.ts";
import type { NextMove } from "./moves.ts";
import { CHECKOUT_BODY_SCHEMA, DELIVER_BODY_SCHEMA } from "./schemas.ts";
import { escrowTerms } from "./snapshot.ts";

/** A party's side of a transaction. */
export type Role = "buyer" | "seller";

/** A next step on chain, as a call that the party's wallet can send as is. */
export interface CallAction extends ContractCall {
  action:
    | "approve"
    | "createEscrow"
    | "submitDelivery"
    | "accept"
    | "openDispute"
    | "finalize"
    | "claimAbandoned"
    | "refund"
    | "resolveExpired";
  /** Last second in which the chain accepts the call, in unix seconds; null if it stays open. */
  availableUntil: number | null;
}

/** A next step as a request to this service. */
export interface RequestAction {
  action: "deliver" | "checkout";
  method: "POST";
  path: string;
  /** JSON Schema of the body. */
  bodySchema: Readonly<Record<string, unknown>>;
  /** A body that can be sent as is, where the service knows one. */
  body?: Readonly<Record<string, unknown>>;
  description: string;
  /** Last second in which the service accepts the request, in unix seconds; null if it stays open. */
  availableUntil: number | null;
}

/** A party's possible next step. */
export type Action = CallAction | RequestAction;

/** The contract and chain that a transaction's calls are for. */
export function callTarget(record: TransactionRecord): CallTarget {
  return { chainId: record.chainId, escrowContract: record.escrowContract };
}

/** The two calls that fund a checkout. */
export function fundingCalls(record: TransactionRecord): { approve: ContractCall; createEscrow: ContractCall } {
  const target = callTarget(record);
  return {
    approve: approveCall(target, record.token.address, BigInt(record.amount)),
    createEscrow: createEscrowCall(target, escrowTerms(record)),
  };
}

/** The call that commits to a submitted payload; undefined before the payload. */
export function buildSubmitDelivery(record: TransactionRecord): ContractCall | undefined {
  if (record.deliveryProof === null) return undefined;
  return submitDeliveryCall(callTarget(record), record.escrowId, record.deliveryProof);
}

/** The request with which the seller submits a payload; undefined once it is stored. */
function deliverRequest(record: TransactionRecord, availableUntil: number | null): RequestAction | undefined {
  if (record.deliveryProof !== null) return undefined;
  return {
    action: "deliver",
    method: "POST",
    path: `/api/v1/transactions/${record._id}/deliver`,
    bodySchema: DELIVER_BODY_SCHEMA,
    description: "Submit the result; the answer has the submitDelivery call, whose hash depends on the result",
    availableUntil,
  };
}

/**
 * A party's possible next steps, by the escrow's state and the chain's time. A seller first submits the payload
 * (`deliver`). Then the call that commits to it (`submitDelivery`) is available.
 * @param now unix seconds
 */
export function nextActions(record: TransactionRecord, role: Role, now: number): Action[] {
  switch (record.status) {
    case "pending_funding":
      return role === "buyer" ? fundingActions(record, now) : [];
    case "expired":
      return role === "buyer" ? checkoutAgain(record) : [];
    case "funded":
      return openActions(record, role, now);
    case "delivered":
    case "disputed":
      return [...missingPayload(record, role), ...openActions(record, role, now)];
    case "released":
    case "resolved":
      return missingPayload(record, role);
    default:
      return [];
  }
}

/** The party's moves that the chain accepts now. */
function openActions(record: TransactionRecord, role: Role, now: number): Action[] {
  const isOwn = ({ by }: NextMove) => by === role || by === "anyone";
  return nextMoves(record)
    .filter((next) => isOwn(next) && isOpen(next, now))
    .flatMap((next) => toActions(record, next));
}

function toActions(record: TransactionRecord, { move, availableUntil }: NextMove): Action[] {
  if (move === "resolve") return [];
  if (move !== "submitDelivery") {
    return [{ action: move, ...moveCall(callTarget(record), move, record.escrowId), availableUntil }];
  }
  const request = deliverRequest(record, availableUntil);
  const submit = buildSubmitDelivery(record);
  return [
    ...(request === undefined ? [] : [request]),
    ...(submit === undefined ? [] : [{ action: move, ...submit, availableUntil }]),
  ];
}

function fundingActions(record: TransactionRecord, now: number): Action[] {
  if (record.quoteExpiresAt === null || now > record.quoteExpiresAt) return checkoutAgain(record);
  const { approve, createEscrow } = fundingCalls(record);
  return [
    { action: "approve", ...approve, availableUntil: record.quoteExpiresAt },
    { action: "createEscrow", ...createEscrow, availableUntil: record.quoteExpiresAt },
  ];
}

/**
 * The checkout request that repeats an unfunded order. Its quote has expired, or another escrow has taken its id, so the
 * chain will always refuse its createEscrow.
 */
function checkoutAgain(record: TransactionRecord): RequestAction[] {
  const { serviceId, quoteExpiresAt, criteriaJson, requestPayloadJson, callbackUrl } = record;
  if (record.unsolicited || serviceId === null || quoteExpiresAt === null) return [];
  const { criteria } = (criteriaJson === null ? {} : JSON.parse(criteriaJson)) as { criteria?: unknown };
  const order = {
    serviceId,
    quantity: record.quantity,
    paymentMethod: record.token.symbol.toLowerCase(),
    callbackUrl,
    requestPayload: requestPayloadJson === null ? null : (JSON.parse(requestPayloadJson) as unknown),
    disputeWindow: record.disputeWindow,
    abandonmentGrace: record.abandonmentGrace,
    // Checkout counts both from the same time.
    deliveryDeadlineSeconds: record.deadline - quoteExpiresAt + QUOTE_SECONDS,
    criteria: criteria ?? null,
    intentId: record.intentId ?? null,
  };
  return [
    {
      action: "checkout",
      method: "POST",
      path: "/api/v1/checkout",
      bodySchema: CHECKOUT_BODY_SCHEMA,
      body: Object.fromEntries(Object.entries(order).filter(([, value]) => value !== null)),
      description:
        record.intentId === undefined
          ? "Order the same again; the answer has a new escrow id, a new quote and new calls"
          : "Order under the same intent; while this escrow may still be funded, the answer is this deal",
      availableUntil: null,
    },
  ];
}

/** A seller that committed to a delivery on chain first may still submit the payload. */
function missingPayload(record: TransactionRecord, role: Role): Action[] {
  const request = role === "seller" ? deliverRequest(record, null) : undefined;
  return request === undefined ? [] : [request];
}
