import type { RouteDefinition } from "../../../api/http/define-route.ts";
import type { ErrorCode } from "../../../api/http/errors.ts";
import { ERROR_CATALOGUE } from "../../../api/http/errors.ts";

const INTRODUCTION = `# Errors

Every error of the API is JSON with the same shape:

\`\`\`json
{ "success": false, "error": "what went wrong, for people", "code": "what_went_wrong", "details": "facts, in a form that depends on the code" }
\`\`\`

Programs should use \`code\`; texts may change. \`details\` of a \`validation_error\` is a list of every issue,
\`{path, message}\`, with paths such as \`body.title\` or \`query.limit\`. A \`503\` has \`Retry-After\` in seconds if a retry
may succeed.

A 402 that asks for a payment has a body of its own, with \`budget\` and \`payment\`: see [paying per call](x402.md).

**A 403 that is not JSON does not come from this service.** The bot protection of a content delivery network in front of it
may have blocked the request: check the answer's headers for its origin, slow down, and ask the operator to allow your
address. Every 403 from the service itself is JSON with a \`code\`.

Every path under \`/api/v1\` is also served under \`/v1\`. This page is generated from the catalogue in
\`api/http/errors.ts\` and the routes that list its codes.

| Status | Code | Text | Where |
|---|---|---|---|
`;

/** Codes that the pipeline may answer on any route of a kind, with that kind. */
const PIPELINE: Readonly<Partial<Record<ErrorCode, string>>> = {
  validation_error: "every route with input",
  malformed_request: "before any route; the connection is closed",
  request_timeout: "the same",
  headers_too_large: "the same",
  malformed_json: "every route with a body",
  payload_too_large: "every route with a body",
  unsupported_media_type: "every route with a body",
  invalid_api_key: "every route that needs a key",
  payment_required: "every route with a daily budget, and `POST /api/v1/x402/packs/{packId}`",
  payment_verification_failed: "the same, for a payment that doesn't count",
  settlement_pending: "the same, while the outcome of a settlement is unknown",
  facilitator_unavailable: "the same, for a payment that can't be verified now",
  not_found: "unknown paths, and records that don't exist for the caller",
  method_not_allowed: "known paths, with `Allow`",
  internal_error: "every route",
  service_unavailable: "every route that needs a key or reads records",
  escrow_id_taken: "never an answer: it is the `expiredBy` of a transaction",
};

/** The page docs/errors.md: the catalogue by status, each code with the routes that may answer it. */
export function errorsPage(routes: readonly RouteDefinition<never>[]): string {
  const rows = Object.entries(ERROR_CATALOGUE)
    .sort(([, left], [, right]) => left.status - right.status)
    .map(([code, { status, text }]) => {
      const naming = routes.filter(({ errors }) => errors.includes(code as ErrorCode));
      const where =
        PIPELINE[code as ErrorCode] ?? naming.map(({ method, path }) => `\`${method} ${path}\``).join("<br>");
      return `| ${status} | \`${code}\` | ${text} | ${where} |`;
    });
  return `${INTRODUCTION}${rows.join("\n")}\n`;
}
