import { z } from "zod";

import type { RouteDefinition } from "./define-route.ts";

/** The schema of a header, described once in the API description. */
function header<Value extends z.ZodType>(id: string, value: Value, description: string): Value {
  return value.meta({ header: { id, description } });
}

const retryAfter = header("RetryAfter", z.int().min(1), "Seconds after which a retry may succeed");
const challenge = header("Challenge", z.string().optional(), "How a key is sent, if the key was missing or invalid");
/** Names of the headers with the receipt of a payment. */
export const RECEIPT_HEADERS: readonly string[] = ["X-PAYMENT-RESPONSE", "PAYMENT-RESPONSE"];
const asked = header("PaymentRequired", z.string().optional(), "What x402 v2 clients are to pay, base64 JSON");

const FIRST_ERROR = 400;
const UNAUTHORIZED = 401;
const PAYMENT_REQUIRED = 402;
const TOO_MANY_REQUESTS = 429;

/** The headers that a route's answer of a status has besides those that the description explains once for the whole API. */
export function headersOf(
  route: RouteDefinition<never>,
  status: number,
  isPayable: boolean,
): { headers?: z.ZodObject } {
  const headers = {
    ...(status === TOO_MANY_REQUESTS ? { "Retry-After": retryAfter } : {}),
    ...(status === UNAUTHORIZED ? { "WWW-Authenticate": challenge } : {}),
    ...(status < FIRST_ERROR ? route.responseHeaders : {}),
    ...(status === PAYMENT_REQUIRED && isPayable ? { "PAYMENT-REQUIRED": asked } : {}),
  };
  return Object.keys(headers).length === 0 ? {} : { headers: z.object(headers) };
}
