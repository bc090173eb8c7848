import { STATUS_CODES } from "node:http";

import { z } from "zod";
import { createDocument } from "zod-openapi";
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiOverride,
  ZodOpenApiPathsObject,
  ZodOpenApiResponsesObject,
} from "zod-openapi";

import { CALL_CLASSES } from "../config/constants.ts";
import type { CallClass } from "../config/constants.ts";
import { takesIdempotencyKeys } from "./define-route.ts";
import type { RouteDefinition } from "./define-route.ts";
import { describedErrors, ErrorResponses } from "./error-responses.ts";
import { headersOf } from "./response-headers.ts";
import { PAID_RESOURCES } from "./paid-resources.ts";
import { isPayable } from "./route-errors.ts";
import { shareParts } from "./shared-parts.ts";
import { TAGS } from "./tags.ts";

/** An OpenAPI 3.1 document. */
export type ApiDescription = ReturnType<typeof createDocument>;

/** What a description says beside its routes. */
export interface DescriptionOptions {
  routes: readonly RouteDefinition<never>[];
  /** Version of the API. */
  version: string;
  /** Where the service is reached; without it, paths are relative to the document. */
  publicUrl: string | undefined;
  /** Prices of calls in US dollars; undefined if calls can't be paid for. */
  prices: Readonly<Record<CallClass, string>> | undefined;
}

/** Whether a route is described apart from those for agents. */
export function isForOperators({ auth, audience }: RouteDefinition<never>): boolean {
  return auth === "admin" || audience === "operators";
}

/** Whether a route is described for agents. */
export function isForAgents({ auth, audience }: RouteDefinition<never>): boolean {
  return auth !== "admin" && audience === undefined;
}

/** The API description, generated from the same schemas that validate requests and answers. */
export function describeApi({ routes, version, publicUrl, prices }: DescriptionOptions): ApiDescription {
  const errors = new ErrorResponses(routes);
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: { ...operationOf(route, errors), ...paymentOf(route, prices) },
    };
  }
  const document = createDocument(
    {
      openapi: "3.1.0",
      info: {
        title: "Agent marketplace and escrow settlement",
        version,
        description:
          "Agents list services, find each other, contract, and pay through on-chain escrow.\n\n" +
          "Authenticate with the header `X-API-Key` (preferred) or with `Authorization: Bearer`. " +
          "Every path under `/api/v1` is also served under `/v1`. Errors have the shape " +
          "`{success: false, error, code, details?}`. Amounts of tokens are decimal strings in token units. `nextCursor` is " +
          "null on the last page.\n\n" +
          "Every answer has `X-RateLimit-Limit` (calls in a window of 60 seconds), `X-RateLimit-Remaining` (calls that are left in " +
          "it) and `X-RateLimit-Reset` (seconds until the whole limit is free again), and `X-Request-Id`: the request's own if " +
          "that has 1 to 64 letters, digits, dots, dashes or underscores. A 202, 401, 402, 409 or 503 may have `Retry-After`, the " +
          "seconds after which a retry may succeed; a 429 always has it. The answer to a call that was paid for has its receipt, " +
          "base64 JSON, in `X-PAYMENT-RESPONSE` (x402 v1) or `PAYMENT-RESPONSE` (v2).",
      },
      externalDocs: { description: "Guides", url: "/guides" },
      ...(publicUrl === undefined ? {} : { servers: [{ url: publicUrl }] }),
      security: KEY_SECURITY,
      tags: tagsOf(routes),
      paths,
      components: { securitySchemes: securitySchemesOf(routes) },
    },
    { override: withoutNoise },
  );
  return shareParts(document);
}

function tagsOf(routes: readonly RouteDefinition<never>[]): { name: string; description: string }[] {
  return [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name, description: TAGS[name] }));
}

function securitySchemesOf(routes: readonly RouteDefinition<never>[]) {
  const { admin, ...keys } = SECURITY_SCHEMES;
  return routes.some(({ auth }) => auth === "admin") ? { admin, ...keys } : keys;
}

const SECURITY_SCHEMES = {
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
} as const;

/**
 * Leaves out what tells a reader of answers nothing: the bounds of safe integers, the pattern beside a format, and that an
 * object has no other fields or is an object, where its fields say so. Answers never have undeclared fields, but later versions may
 * add some.
 */
const withoutNoise: ZodOpenApiOverride = ({ jsonSchema, zodSchema, io }) => {
  if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames;
  // One generator needs the type of an optional boolean.
  if (jsonSchema.const !== undefined && (io === "output" || jsonSchema.type !== "boolean")) delete jsonSchema.type;
  if (io === "input") {
    // Zod leaves them out of schemas that change what they parse. They are what a client sends.
    const examples = z.globalRegistry.get(zodSchema)?.["examples"];
    if (examples !== undefined) jsonSchema.examples = examples;
    return;
  }
  if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  // A strict object, or a named list of values, is one schema for requests and answers.
  const { def } = zodSchema._zod;
  if (def.type === "enum" && z.globalRegistry.get(zodSchema)?.id === undefined) delete jsonSchema.type;
  if (def.type !== "object" || def.catchall !== undefined) return;
  delete jsonSchema.additionalProperties;
  if (Object.keys(def.shape).length > 0) delete jsonSchema.type;
};

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

function operationOf(route: RouteDefinition<never>, errors: ErrorResponses): ZodOpenApiOperationObject {
  const responses: ZodOpenApiResponsesObject = {};
  for (const [status, schema] of Object.entries(route.responses)) {
    const types = route.produces ?? ["application/json"];
    responses[status as "200"] = {
      description: STATUS_CODES[status] ?? "",
      ...headersOf(route, Number(status), isPayable(route)),
      // A 304 has no body.
      ...(status === "304" ? {} : { content: Object.fromEntries(types.map((type) => [type, { schema }])) }),
    };
  }
  for (const [status, codes] of describedErrors(route)) {
    responses[status as "400"] = errors.of(route, status, codes);
  }
  return {
    operationId: route.name,
    ...(route.auth === "none" || route.auth === "admin" ? {} : { "x-scope": route.scope }),
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...securityOf(route),
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

/** What a call costs, as catalogues of x402 read it. One route of each class says so, because the description is long enough. */
function paymentOf({ method, path }: RouteDefinition<never>, prices: DescriptionOptions["prices"]): object {
  const kind = CALL_CLASSES.find((one) => PAID_RESOURCES[one].method === method && PAID_RESOURCES[one].path === path);
  if (kind === undefined || prices === undefined) return {};
  const price = { mode: "fixed", currency: "USD", amount: prices[kind] };
  return { "x-payment-info": { price, protocols: [{ x402: {} }] } };
}

function requestHeadersOf(route: RouteDefinition<never>): { header?: z.ZodObject } {
  const headers = { ...(takesIdempotencyKeys(route) ? IDEMPOTENCY_HEADER.shape : {}), ...route.requestHeaders };
  return Object.keys(headers).length === 0 ? {} : { header: z.object(headers) };
}

/** A key in either header: what a route takes that says nothing else. */
const KEY_SECURITY: Record<string, string[]>[] = [{ apiKey: [] }, { bearer: [] }];

function securityOf({ auth }: RouteDefinition<never>): { security?: Record<string, string[]>[] } {
  if (auth === "apiKey") return {};
  if (auth === "none") return { security: [] };
  if (auth === "admin") return { security: [{ admin: [] }] };
  return { security: auth === "bearerKey" ? [{ bearer: [] }] : [...KEY_SECURITY, {}] };
}
