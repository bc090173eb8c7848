import { refusalOf } from "./authenticate.ts";
import { takesIdempotencyKeys } from "./define-route.ts";
import type { RouteDefinition } from "./define-route.ts";
import type { ErrorCode } from "./errors.ts";
import { SESSION_ERRORS } from "./page-session.ts";
import { PAYMENT_CODES } from "./payment-required.ts";

/** Authentication reads the database, which may be unavailable. Signatures count only where they are required. */
const KEY_ERRORS: readonly ErrorCode[] = [
  "request_signature_invalid",
  "request_timestamp_expired",
  "service_unavailable",
];
const IDEMPOTENCY_ERRORS: readonly ErrorCode[] = ["idempotency_key_reused", "request_in_progress"];
/** Error codes of a call that can be paid for. Verifying a payment needs the chain. */
const PAYMENT_ROUTE_ERRORS: readonly ErrorCode[] = [
  ...PAYMENT_CODES,
  "payment_identifier_reused",
  "mandate_exceeded",
  "chain_unavailable",
  "facilitator_unavailable",
];
const LIMIT_ERRORS: readonly ErrorCode[] = ["rate_limit_exceeded", "service_unavailable"];
const BODY_ERRORS: readonly ErrorCode[] = ["malformed_json", "payload_too_large", "unsupported_media_type"];

/** Whether a route's answers are never kept for a repeat with the same `Idempotency-Key`. */
export function keepsNoAnswer(route: RouteDefinition<never>): boolean {
  return takesIdempotencyKeys(route) && !route.storesResponse;
}

function hasPricedCalls({ auth, budget }: RouteDefinition<never>): boolean {
  return auth !== "none" && budget !== "none";
}

/** Whether a call may be answered with a 402 that asks for a payment. */
export function isPayable(route: RouteDefinition<never>): boolean {
  return PAYMENT_CODES.some((code) => errorCodesOf(route).has(code));
}

/** Every code that a route may answer: those that it declares and those that the pipeline adds. */
export function errorCodesOf(route: RouteDefinition<never>): ReadonlySet<ErrorCode> {
  // A route without a budget that asks for a payment sells prepaid packs and declares so.
  const isPaidFor = hasPricedCalls(route) || route.errors.includes("payment_required");
  return new Set<ErrorCode>([
    "validation_error",
    ...(route.body === undefined ? [] : BODY_ERRORS),
    ...(takesIdempotencyKeys(route) ? IDEMPOTENCY_ERRORS : []),
    ...(keepsNoAnswer(route) ? (["already_processed"] as const) : []),
    // A paid call isn't run again if its answer couldn't be kept.
    ...(isPaidFor && !route.readsOnly ? (["already_processed"] as const) : []),
    // Keys and limits are in the database, which may be unavailable.
    ...(route.limitClass === "unlimited" ? [] : LIMIT_ERRORS),
    ...(route.limitClass === "developerAccess" ? (["too_many_attempts"] as const) : []),
    ...(hasPricedCalls(route) ? PAYMENT_ROUTE_ERRORS : []),
    ...(route.auth === "none" ? [] : KEY_ERRORS),
    ...(route.auth === "none" ? [] : ([refusalOf(route.auth)] as const)),
    ...(route.auth === "apiKey" ? SESSION_ERRORS : []),
    ...(route.auth === "none" || route.auth === "admin" ? [] : (["scope_not_granted"] as const)),
    ...route.errors,
    "internal_error",
  ]);
}
