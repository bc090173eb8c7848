import { STATUS_CODES } from "node:http";

import { z } from "zod";
import type { ZodOpenApiResponseObject } from "zod-openapi";

import type { RouteDefinition } from "./define-route.ts";
import { ERROR_BODIES, pascalCase } from "./error-schemas.ts";
import { ERROR_CATALOGUE } from "./errors.ts";
import type { ErrorCode } from "./errors.ts";
import { headersOf } from "./response-headers.ts";
import { SESSION_ERRORS } from "./page-session.ts";
import { PAYMENT_CODES } from "./payment-required.ts";
import { errorCodesOf, isPayable } from "./route-errors.ts";

/** Codes that the pipeline adds together, with a name for them in shared responses and schemas. */
const GROUPS: readonly { name: string; schema: string; codes: readonly ErrorCode[] }[] = [
  {
    name: "Repeatable",
    schema: "IdempotencyError",
    codes: ["already_processed", "idempotency_key_reused", "request_in_progress"],
  },
  { name: "Paid", schema: "PaymentUnavailableError", codes: ["chain_unavailable", "facilitator_unavailable"] },
  { name: "Paid", schema: "", codes: ["payment_identifier_reused"] },
  { name: "Body", schema: "", codes: ["malformed_json"] },
  {
    name: "",
    schema: "RequestSignatureError",
    codes: ["request_signature_invalid", "request_timestamp_expired"],
  },
];

/** Codes that name nothing, because their status says as much. */
const PLAIN: readonly ErrorCode[] = [
  "validation_error",
  "invalid_api_key",
  ...PAYMENT_CODES,
  "not_found",
  "scope_not_granted",
  "payload_too_large",
  "unsupported_media_type",
  "rate_limit_exceeded",
  "internal_error",
  "service_unavailable",
];

/** The groups that are whole among the codes, and what is left of these. */
function grouped(codes: readonly ErrorCode[]) {
  const groups = GROUPS.filter((group) => group.codes.every((code) => codes.includes(code)));
  const others = codes.filter((code) => !groups.some((group) => group.codes.includes(code)));
  return { groups, others };
}

/** Codes that any operation, or any with a body, may answer whatever it does: what it answers beside its own statuses. */
const ANYWHERE: readonly ErrorCode[] = ["internal_error", "payload_too_large", "unsupported_media_type"];

/** Pages alone get these answers, and no description has what is for pages. */
const FOR_PAGES: readonly ErrorCode[] = [...SESSION_ERRORS, "wallet_not_of_stack"];

/** The codes that a route may answer by their statuses in the description; `default` are those that say nothing of the route. */
export function describedErrors(route: RouteDefinition<never>): Map<string, ErrorCode[]> {
  const codes = [...errorCodesOf(route)].filter((code) => !FOR_PAGES.includes(code));
  return Map.groupBy(codes.toSorted(), (code) =>
    ANYWHERE.includes(code) ? "default" : String(ERROR_CATALOGUE[code].status),
  );
}

/** The error responses of a description: routes that answer a status with the same codes share one. */
export class ErrorResponses {
  readonly #shared = new Map<string, ZodOpenApiResponseObject>();

  constructor(routes: readonly RouteDefinition<never>[]) {
    const seen = new Set<string>();
    for (const route of routes) {
      for (const [status, codes] of describedErrors(route)) {
        const key = codes.join();
        if (route.responses[Number(status)] !== undefined) continue;
        if (seen.has(key) && !this.#shared.has(key)) {
          this.#shared.set(key, { id: nameOf(status, codes), ...responseOf(route, status, codes) });
        }
        seen.add(key);
      }
    }
  }

  /** The response of a route with a status that the codes have. */
  of(route: RouteDefinition<never>, status: string, codes: readonly ErrorCode[]): ZodOpenApiResponseObject {
    const shared = route.responses[Number(status)] === undefined ? this.#shared.get(codes.join()) : undefined;
    return shared ?? responseOf(route, status, codes);
  }
}

/** `E409PaidWebhookNotActive`: the status, what the pipeline adds, and the route's own codes, the first two of many. */
function nameOf(status: string, codes: readonly ErrorCode[]): string {
  const { groups, others } = grouped(codes);
  const own = others.filter((code) => !PLAIN.includes(code)).map(pascalCase);
  if (own.length > 3) own.splice(2, own.length, "AndMore");
  return [status === "default" ? `Any${codes.length}` : `E${status}`, ...groups.map(({ name }) => name), ...own].join(
    "",
  );
}

const groupBodies = new Map(
  GROUPS.filter(({ schema }) => schema !== "").map((group) => [
    group,
    z.union(group.codes.map((code) => ERROR_BODIES[code])).meta({ id: group.schema }),
  ]),
);

/** The schemas of bodies with these codes. */
function bodiesOf(codes: readonly ErrorCode[]): z.ZodType[] {
  const { groups, others } = grouped(codes);
  const ofGroups = groups.flatMap((group) => groupBodies.get(group) ?? group.codes.map((code) => ERROR_BODIES[code]));
  return [...new Set([...ofGroups, ...others.map((code) => ERROR_BODIES[code])])];
}

/** The headers depend on the codes alone: a 402 that asks for a payment has one more. */
function responseOf(
  route: RouteDefinition<never>,
  status: string,
  codes: readonly ErrorCode[],
): ZodOpenApiResponseObject {
  const own = route.responses[Number(status)];
  const bodies = [...(own === undefined ? [] : [own]), ...bodiesOf(codes)];
  return {
    description: STATUS_CODES[status] ?? "What any operation may answer",
    ...headersOf(route, Number(status), isPayable(route)),
    content: { "application/json": { schema: bodies.length === 1 ? bodies[0] : z.union(bodies) } },
  };
}
