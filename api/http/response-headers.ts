import { z } from "zod";

import { takesIdempotencyKeys } from "./define-route.ts";
import type { RouteDefinition } from "./define-route.ts";

/** The schema of a header, described once in the API description. */
function header<Value extends z.ZodType>(id: string, value: Value, description: string): Value {
  return value.meta({ header: { id, description } });
}

const wholeNumber = z.int().min(0);

/** The rate-limit headers that every answer has. `X-Request-Id` and the receipts are described once, for the whole API. */
const EVERY_ANSWER = {
  "X-RateLimit-Limit": header("Limit", wholeNumber.clone(), "Calls in a window of 60 seconds"),
  "X-RateLimit-Remaining": header("Remaining", wholeNumber.clone(), "Calls that are left in the window"),
  "X-RateLimit-Reset": header("Reset", wholeNumber.clone(), "Seconds until the whole limit is free again"),
};
const RETRY_AFTER_DESCRIPTION = "Seconds after which a retry may succeed";
const retryAfter = z.int().min(1);
const sometimesRetryAfter = header("Retry", retryAfter.optional(), RETRY_AFTER_DESCRIPTION);
const alwaysRetryAfter = header("RetryAfter", retryAfter.clone(), RETRY_AFTER_DESCRIPTION);
const replayed = header(
  "Replayed",
  z.literal("true").optional(),
  "The answer is that of an earlier request with the same Idempotency-Key",
);
const challenge = header("Challenge", z.string().optional(), "How a key is sent, if the key was missing or invalid");
/** Names of the headers with the receipt of a payment. */
export const RECEIPT_HEADERS: readonly string[] = ["X-PAYMENT-RESPONSE", "PAYMENT-RESPONSE"];
const asked = header("PaymentRequired", z.string().optional(), "What x402 v2 clients are to pay, base64 JSON");

const ACCEPTED = 202;
const FIRST_ERROR = 400;
const UNAUTHORIZED = 401;
const PAYMENT_REQUIRED = 402;
const TOO_MANY_REQUESTS = 429;
/** Answers that may say when to try again. A suspended key is a 401 with the end of its suspension. */
const TEMPORARY = [ACCEPTED, UNAUTHORIZED, PAYMENT_REQUIRED, 409, 503];

/** The headers that a route's answer of a status has besides those that every web server sends. */
export function headersOf(route: RouteDefinition<never>, status: number, isPayable: boolean): z.ZodObject {
  return z.object({
    ...EVERY_ANSWER,
    ...(TEMPORARY.includes(status) ? { "Retry-After": sometimesRetryAfter } : {}),
    ...(status === TOO_MANY_REQUESTS ? { "Retry-After": alwaysRetryAfter } : {}),
    ...(status === UNAUTHORIZED ? { "WWW-Authenticate": challenge } : {}),
    ...(status < FIRST_ERROR && takesIdempotencyKeys(route) ? { "Idempotency-Replayed": replayed } : {}),
    ...(status < FIRST_ERROR ? route.responseHeaders : {}),
    ...(status === PAYMENT_REQUIRED && isPayable ? { "PAYMENT-REQUIRED": asked } : {}),
  });
}
