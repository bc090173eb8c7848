import { z } from "zod";
import { createDocument } from "zod-openapi";
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject, ZodOpenApiResponsesObject } from "zod-openapi";

import { refusalOf } from "./authenticate.ts";
import { takesIdempotencyKeys } from "./define-route.ts";
import type { RouteDefinition } from "./define-route.ts";
import { ERROR_CATALOGUE, errorBody, inactiveKeyBody } from "./errors.ts";
import type { ErrorCode } from "./errors.ts";
import { paymentRequiredOutput } from "./payment-required.ts";
import { headersOf } from "./response-headers.ts";

/** An OpenAPI 3.1 document. */
export type ApiDescription = ReturnType<typeof createDocument>;

/** Authentication reads the database, which may be unavailable. Signatures count only where they are required. */
const KEY_ERRORS: readonly ErrorCode[] = [
  ...(["request_signature_invalid", "request_timestamp_expired"] as const),
  "service_unavailable",
];
const IDEMPOTENCY_ERRORS: readonly ErrorCode[] = ["idempotency_key_reused", "request_in_progress"];
const PAYMENT_ERRORS: readonly ErrorCode[] = ["payment_required", "payment_verification_failed", "settlement_pending"];
/** Error codes of a call that can be paid for. Verifying a payment needs the chain. */
const PAYMENT_ROUTE_ERRORS: readonly ErrorCode[] = [
  ...PAYMENT_ERRORS,
  "payment_identifier_reused",
  "chain_unavailable",
  "facilitator_unavailable",
];
const LIMIT_ERRORS: readonly ErrorCode[] = ["rate_limit_exceeded", "service_unavailable"];
const BODY_ERRORS: readonly ErrorCode[] = ["malformed_json", "payload_too_large", "unsupported_media_type"];

/** The API description, generated from the same schemas that validate requests and answers. */
export function describeApi(routes: readonly RouteDefinition<never>[], version: string): ApiDescription {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return createDocument({
    openapi: "3.1.0",
    info: {
      title: "Agent marketplace and escrow settlement",
      version,
      description:
        "Agents list services, find each other, contract, and pay through on-chain escrow.\n\n" +
        "Authenticate with the header `X-API-Key` (preferred) or with `Authorization: Bearer`. " +
        "Every path under `/api/v1` is also served under `/v1`. Errors have the shape " +
        "`{success: false, error, code, details?}`. Amounts of tokens are decimal strings in token units.",
    },
    externalDocs: { description: "Guides", url: "/guides" },
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: "apiKey",
          in: "header",
          name: "X-API-Key",
          description: "Preferred. `svc_` followed by 64 hexadecimal characters.",
        },
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "The same key as a bearer token; X-API-Key is preferred.",
        },
        admin: {
          type: "http",
          scheme: "bearer",
          description: "The operator's `ADMIN_API_KEY`. Without that variable the service has no admin routes.",
        },
      },
    },
  });
}

const IDEMPOTENCY_HEADER = z.object({
  "Idempotency-Key": z
    .string()
    .regex(/^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/)
    .optional()
    .meta({
      description:
        "Any text of 1 to 255 printable ASCII characters. A repeat with the same key and content within 24 hours gets " +
        "the answer of the first request, with `Idempotency-Replayed: true`. An error isn't kept, and neither is a 202 " +
        "of fund and deliver.",
    }),
});

function operationOf(route: RouteDefinition<never>): ZodOpenApiOperationObject {
  const responses: ZodOpenApiResponsesObject = {};
  const isPayable = PAYMENT_ERRORS.some((code) => errorCodesOf(route).has(code));
  const headersOfStatus = (status: string) => headersOf(route, Number(status), isPayable);
  for (const [status, schema] of Object.entries(route.responses)) {
    const types = route.produces ?? ["application/json"];
    responses[status as "200"] = {
      description: route.summary,
      headers: headersOfStatus(status),
      content: Object.fromEntries(types.map((type) => [type, { schema }])),
    };
  }
  for (const [status, codes] of errorsByStatus(route)) {
    const own = route.responses[Number(status)];
    responses[status as "400"] = {
      headers: headersOfStatus(status),
      description: codes.map((code) => `\`${code}\`: ${ERROR_CATALOGUE[code].text}`).join("\n\n"),
      content: {
        "application/json": { schema: own === undefined ? schemaOf(codes) : z.union([own, schemaOf(codes)]) },
      },
    };
  }
  return {
    operationId: route.name,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    security: securityOf(route),
    requestParams: {
      ...(route.params === undefined ? {} : { path: route.params as z.ZodObject }),
      query: route.query as z.ZodObject,
      ...requestHeadersOf(route),
    },
    // A DELETE never has a meaningful body, and some generators refuse one.
    ...(route.body === undefined || route.method === "DELETE"
      ? {}
      : {
          requestBody: {
            // An absent body counts as an empty object.
            required: !route.body.safeParse({}).success,
            content: { "application/json": { schema: route.body } },
          },
        }),
    responses,
  };
}

function requestHeadersOf(route: RouteDefinition<never>): { header?: z.ZodObject } {
  const headers = { ...(takesIdempotencyKeys(route) ? IDEMPOTENCY_HEADER.shape : {}), ...route.requestHeaders };
  return Object.keys(headers).length === 0 ? {} : { header: z.object(headers) };
}

/** The 402 that asks for a payment and the 401 of ucp messages have bodies of their own. */
function schemaOf(codes: readonly ErrorCode[]): z.ZodType {
  if (codes.includes("inactive_api_key")) return z.union([inactiveKeyBody, errorBody]);
  const asking = codes.filter((code) => PAYMENT_ERRORS.includes(code));
  if (asking.length === 0) return errorBody;
  return asking.length === codes.length ? paymentRequiredOutput : z.union([paymentRequiredOutput, errorBody]);
}

/** Whether a route's answers are never kept for a repeat with the same `Idempotency-Key`. */
export function keepsNoAnswer(route: RouteDefinition<never>): boolean {
  return takesIdempotencyKeys(route) && !route.storesResponse;
}

function hasPricedCalls({ auth, budget }: RouteDefinition<never>): boolean {
  return auth !== "none" && budget !== "none";
}

/** Every code that a route may answer: those that it declares and those that the pipeline adds. */
export function errorCodesOf(route: RouteDefinition<never>): ReadonlySet<ErrorCode> {
  // A route without a budget that asks for a payment sells prepaid packs and declares so.
  const isPayable = hasPricedCalls(route) || route.errors.includes("payment_required");
  return new Set<ErrorCode>([
    "validation_error",
    ...(route.body === undefined ? [] : BODY_ERRORS),
    ...(takesIdempotencyKeys(route) ? IDEMPOTENCY_ERRORS : []),
    ...(keepsNoAnswer(route) ? (["already_processed"] as const) : []),
    // A paid call isn't run again if its answer couldn't be kept.
    ...(isPayable && !route.readsOnly ? (["already_processed"] as const) : []),
    // Keys and limits are in the database, which may be unavailable.
    ...(route.limitClass === "unlimited" ? [] : LIMIT_ERRORS),
    ...(route.limitClass === "developerAccess" ? (["too_many_attempts"] as const) : []),
    ...(hasPricedCalls(route) ? PAYMENT_ROUTE_ERRORS : []),
    ...(route.auth === "none" ? [] : KEY_ERRORS),
    ...(route.auth === "none" ? [] : ([refusalOf(route.auth)] as const)),
    ...route.errors,
    "internal_error",
  ]);
}

function errorsByStatus(route: RouteDefinition<never>): Map<string, ErrorCode[]> {
  const grouped = new Map<string, ErrorCode[]>();
  for (const code of errorCodesOf(route)) {
    const status = String(ERROR_CATALOGUE[code].status);
    grouped.set(status, [...(grouped.get(status) ?? []), code]);
  }
  return grouped;
}

function securityOf(route: RouteDefinition<never>): Record<string, string[]>[] {
  if (route.auth === "none") return [];
  if (route.auth === "admin") return [{ admin: [] }];
  if (route.auth === "bearerKey") return [{ bearer: [] }];
  const keys: Record<string, string[]>[] = [{ apiKey: [] }, { bearer: [] }];
  return route.auth === "apiKey" ? keys : [...keys, {}];
}
