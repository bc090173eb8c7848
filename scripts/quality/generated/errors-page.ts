import type { RouteDefinition } from "../../../api/http/define-route.ts";
import type { ErrorCode } from "../../../api/http/errors.ts";
import { errorCodesOf, keepsNoAnswer } from "../../../api/http/route-errors.ts";
import { ERROR_CATALOGUE } from "../../../api/http/errors.ts";

const INTRODUCTION = `# Errors

Every error of the API is JSON with the same shape:

\`\`\`json
{ "success": false, "error": "what went wrong, for people", "code": "what_went_wrong", "details": "facts, in a form that depends on the code" }
\`\`\`

Programs should use \`code\`; texts may change. \`details\` of a \`validation_error\` is a list of every issue,
\`{path, message}\`, with paths such as \`body.title\` or \`query.limit\`. A \`503\` has \`Retry-After\` in seconds if a retry
may succeed.

A 429 says in \`details\` which window is full: \`{window, countedBy, limit}\`, such as \`registration\` by \`address\`. A 401 without a valid
key says in \`details.hint\` how to get one, and has \`WWW-Authenticate: Bearer\`. The 401 of ucp messages has the header, and
nothing but \`error\` in its body.

A 402 that asks for a payment has a body of its own, with \`budget\` and \`payment\`: see [paying per call](x402.md).

A request whose \`Accept\` prefers \`application/problem+json\` to \`application/json\` gets problem details
([RFC 9457](https://www.rfc-editor.org/info/rfc9457)): \`type\`, \`title\`, \`status\` and \`detail\`, beside every field above. \`type\`
leads to the code on this page. Without a preference the type is \`application/json\`.

**A 403 that is not JSON does not come from this service.** The bot protection of a content delivery network in front of it
may have blocked the request. Check the answer's headers for its origin, slow down, and ask the operator to allow your
address. Every 403 from the service itself is JSON with a \`code\`.

Every path under \`/api/v1\` is also served under \`/v1\`. This page is generated from the catalogue in
\`api/http/errors.ts\` and the routes that list its codes. Under each code stands where it is answered.
`;

const UNREADABLE = "before any route; the connection is closed";
const SIGNED = "every request with a key, where the service requires [request signatures](request-signatures.md)";
const PAID = "every route with a daily budget, and `POST /api/v1/x402/packs/{packId}`";
/** Of the sessions of web pages. */
const FOR_PAGES =
  "every request with the [session](sessions.md) of a web page, on routes that take a key as `X-API-Key` and on those of the session";
const REPEATED = "every route with a rate limit but those that only read, for a request with an `Idempotency-Key`";

/** Codes that the pipeline may answer on any route of a kind, with that kind. */
const PIPELINE: Readonly<Partial<Record<ErrorCode, string>>> = {
  validation_error: "every route with input",
  malformed_request: UNREADABLE,
  request_timeout: UNREADABLE,
  headers_too_large: UNREADABLE,
  malformed_json: "every route with a body",
  payload_too_large: "every route with a body",
  unsupported_media_type: "every route with a body",
  invalid_api_key: "every route that takes a key, except for ucp messages",
  session_ended: FOR_PAGES,
  session_other_origin: `${FOR_PAGES}, and signing in`,
  session_token_invalid: FOR_PAGES,
  request_signature_invalid: SIGNED,
  request_timestamp_expired: SIGNED,
  payment_required: PAID,
  payment_verification_failed: `${PAID}, for a payment that doesn't count`,
  payment_identifier_reused: `${PAID}, for a payment whose id came with another one`,
  settlement_pending: `${PAID}, while the outcome of a settlement is unknown`,
  facilitator_unavailable: `${PAID}, for a payment that can't be verified now`,
  idempotency_key_reused: REPEATED,
  request_in_progress: REPEATED,
  rate_limit_exceeded: "every route with a rate limit, unknown paths, and requests without a valid key",
  not_found: "unknown paths, and records that don't exist for the caller",
  method_not_allowed: "known paths, with `Allow`",
  internal_error: "every route",
  service_unavailable: "every route that needs a key or reads records",
  escrow_id_taken: "never an answer: it is the `expiredBy` of a transaction",
};

/** Where a code is answered beside the routes that name it. */
const ELSEWHERE: Readonly<Partial<Record<ErrorCode, string>>> = {
  chain_unavailable: "a call with a payment, which the chain verifies",
  already_processed: "a paid call that changes something and whose answer couldn't be kept",
};

/**
 * The page docs/api/errors.md: the catalogue by status, each code with the routes that may answer it.
 * @throws Error if nothing says where a code is answered, or if that refers to another code: the codes are sorted
 */
export function errorsPage(routes: readonly RouteDefinition<never>[]): string {
  const codes = Object.entries(ERROR_CATALOGUE).sort(([, left], [, right]) => left.status - right.status);
  const entries = codes.map(([code, { status, text }], at) => {
    const known = PIPELINE[code as ErrorCode];
    const places = known === undefined ? placesOf(code as ErrorCode, routes) : [known];
    if (places.length === 0 || places.some((place) => place.startsWith("the same")))
      throw new Error(`${code}: say in PIPELINE where it is answered`);
    const heading = codes[at - 1]?.[1].status === status ? "" : `\n## ${String(status)}\n`;
    return `${heading}\n### \`${code}\`\n\n${text}.\n\n${places.map((place) => `- ${place}\n`).join("")}`;
  });
  return `${INTRODUCTION}${entries.join("")}`;
}

/** The routes that name a code, or else those that the pipeline adds it to. */
function placesOf(code: ErrorCode, routes: readonly RouteDefinition<never>[]): string[] {
  const naming = routes.filter(({ errors }) => errors.includes(code));
  const answering = naming.length > 0 ? naming : routes.filter((route) => isToBeNamed(route, code));
  const elsewhere = ELSEWHERE[code];
  return [
    ...answering.map(({ method, path }) => `\`${method} ${path}\``),
    ...(elsewhere === undefined ? [] : [elsewhere]),
  ];
}

/** Every route with a budget may answer `already_processed` to a paid call: that is said once, in ELSEWHERE. */
function isToBeNamed(route: RouteDefinition<never>, code: ErrorCode): boolean {
  return code === "already_processed" ? keepsNoAnswer(route) : errorCodesOf(route).has(code);
}
