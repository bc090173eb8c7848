import { z } from "zod";

import type { ERROR_DETAILS } from "./error-details.ts";

/**
 * The catalogue of errors: code, HTTP status, text.
 * Codes are stable and machine-readable; texts are for people. It lists every error that the API answers.
 */
export const ERROR_CATALOGUE = {
  validation_error: { status: 400, text: "The request doesn't match its schema" },
  malformed_request: { status: 400, text: "The request isn't well-formed HTTP" },
  malformed_json: { status: 400, text: "The body isn't well-formed JSON" },
  sign_in_message_invalid: { status: 400, text: "The signed message isn't acceptable" },
  signature_invalid: { status: 400, text: "The signature isn't the wallet's signature of this message" },
  verification_token_invalid: { status: 400, text: "The token is unknown, expired or already used" },
  callback_url_required: { status: 400, text: "This service requires a callbackUrl" },
  invalid_api_key: { status: 401, text: "Invalid API key" },
  session_ended: { status: 401, text: "The page's session has ended: sign in again" },
  inactive_api_key: { status: 401, text: "Invalid or inactive API key" },
  request_signature_invalid: {
    status: 401,
    text: "The RFC 9421 signature in the headers Signature and Signature-Input is missing or invalid",
  },
  request_timestamp_expired: { status: 401, text: "The signature's timestamp, created or expires, is out of range" },
  webhook_signature_invalid: { status: 401, text: "The webhook's signature is missing, wrong or older than 5 minutes" },
  insufficient_token_balance: { status: 402, text: "The wallet doesn't hold enough of the token" },
  payment_required: { status: 402, text: "The daily budget is used up, or a prepaid pack is to be paid for" },
  payment_verification_failed: { status: 402, text: "x402 payment verification failed" },
  settlement_pending: { status: 402, text: "The payment's settlement isn't confirmed yet" },
  agent_suspended: { status: 403, text: "A party of the deal is suspended from new deals" },
  agent_not_verified: { status: 403, text: "Agent not verified for this operation" },
  job_value_cap_exceeded: { status: 403, text: "The job is worth more than the scores of its parties allow" },
  testnet_graduation_required: { status: 403, text: "Mainnet checkout requires a higher testnet score" },
  memory_read_only: { status: 403, text: "The namespace audit is written by the service alone" },
  mandate_exceeded: { status: 403, text: "The key's mandate doesn't allow this purchase" },
  scope_not_granted: { status: 403, text: "The key's mandate, or the page's session, doesn't include this operation" },
  session_other_origin: { status: 403, text: "A session counts only in requests of this service's own pages" },
  session_token_invalid: { status: 403, text: "The session's token in X-Session-Token is missing or wrong" },
  sign_in_needs_https: {
    status: 403,
    text: "Pages can sign in over https, or over http on the machine's own loopback",
  },
  wallet_not_of_stack: {
    status: 403,
    text: "A local stack takes only wallets made for it: what this one signs here could be valid on the live chain",
  },
  wrong_role: { status: 403, text: "The caller doesn't have the role that this operation requires" },
  recipient_not_found: { status: 404, text: "No agent with this id is registered" },
  wallet_not_registered: { status: 404, text: "The wallet isn't registered as an agent" },
  not_found: { status: 404, text: "Not found" },
  method_not_allowed: { status: 405, text: "Method not allowed" },
  criteria_not_available: { status: 404, text: "This transaction has no criteria document" },
  ruling_not_available: { status: 404, text: "The dispute hasn't been ruled" },
  approval_limit_reached: { status: 409, text: "As many checkouts of this key wait for approval as may" },
  approval_not_open: { status: 409, text: "The approval can't be decided any more" },
  already_processed: {
    status: 409,
    text: "A request with this Idempotency-Key has been processed; its answer isn't kept",
  },
  delivery_already_submitted: { status: 409, text: "A delivery with different content has already been submitted" },
  delivery_transaction_mismatch: { status: 409, text: "The transaction didn't submit this delivery on chain" },
  criteria_hash_mismatch: { status: 409, text: "The document's hash isn't the escrow's criteriaHash" },
  dispute_not_open_on_chain: { status: 409, text: "The escrow isn't disputed on chain" },
  dispute_already_ruled: { status: 409, text: "The dispute has been ruled" },
  dispute_reason_given: { status: 409, text: "The dispute has a reason already" },
  evidence_closed: { status: 409, text: "No more evidence is taken from this party" },
  evidence_limit_reached: { status: 409, text: "The party has submitted as much evidence as is taken" },
  encrypted_message_repeated: { status: 409, text: "This ciphertext has already been sent to the agent" },
  escrow_id_taken: { status: 409, text: "The escrow id was used on chain with other terms" },
  escrow_state_conflict: { status: 409, text: "The escrow's state on chain doesn't allow this" },
  funding_failed: { status: 409, text: "The funding transaction failed on chain" },
  funding_not_found: { status: 409, text: "The transaction doesn't exist on the settlement chain" },
  funding_other_escrow: { status: 409, text: "The transaction didn't create the escrow of this checkout" },
  funding_other_network: { status: 409, text: "The transaction is on another chain" },
  funding_other_terms: { status: 409, text: "The transaction created the escrow with terms other than the checkout's" },
  funding_pending: { status: 409, text: "The transaction isn't in a block yet" },
  funding_was_a_transfer: {
    status: 409,
    text: "Tokens were sent to the escrow contract by a plain transfer, which funds no escrow: they are lost",
  },
  identity_wallet_mismatch: { status: 409, text: "The identity's wallet in the registry isn't the agent's wallet" },
  idempotency_key_reused: { status: 409, text: "This Idempotency-Key was used for a request with other content" },
  intent_conflict: {
    status: 409,
    text: "This intentId belongs to a request with other arguments, or to one whose record has been deleted",
  },
  looks_like_a_repeat: {
    status: 409,
    text: "A deal under another intentId is open for the same service and payload; with again: true it is bought again",
  },
  inbox_full: { status: 409, text: "The recipient's inbox has no room for an unread message" },
  not_moderated: { status: 409, text: "Nothing has been decided about this subject" },
  self_report: { status: 409, text: "An agent can't report itself, its own service or its own message" },
  report_not_open: { status: 409, text: "The report has been closed" },
  decision_not_in_force: { status: 409, text: "The decision isn't in force" },
  already_appealed: { status: 409, text: "The decision has been appealed" },
  appeal_not_open: { status: 409, text: "The appeal has been answered" },
  mandate_limit_reached: { status: 409, text: "The agent has as many keys with a mandate as it may have" },
  memory_quota_exceeded: { status: 409, text: "The agent's memory is full" },
  memory_renewal_limit_reached: { status: 409, text: "The entry's life can't be extended any further" },
  network_mismatch: { status: 409, text: "The service settles on another network" },
  nonce_already_used: { status: 409, text: "The nonce of the signed message has already been used" },
  not_accepted_on_chain: { status: 409, text: "The buyer has not accepted the delivery on chain" },
  request_in_progress: { status: 409, text: "A request with this Idempotency-Key is still being processed" },
  payment_identifier_reused: { status: 409, text: "This payment-identifier was used with another payment" },
  payment_method_empty: { status: 409, text: "The wallet neither holds nor has allowed the token's smallest deposit" },
  self_purchase: { status: 409, text: "An agent can't buy its own service" },
  transaction_not_funded: { status: 409, text: "The buyer hasn't funded this transaction yet" },
  seller_terms_not_met: { status: 409, text: "The seller doesn't accept escrows on these terms" },
  session_limit_reached: { status: 409, text: "The agent has as many sessions as it may have" },
  service_archived: { status: 409, text: "The service is archived and can't be changed" },
  listing_hidden: { status: 409, text: "An operator has hidden the service" },
  service_not_active: { status: 409, text: "The service isn't active" },
  subscription_limit_reached: { status: 409, text: "The agent is subscribed to as many topics as it may be" },
  too_many_streams: {
    status: 409,
    text: "The agent, or the page's session, already has as many event streams as it may",
  },
  wallet_already_registered: { status: 409, text: "This wallet is already registered as an agent" },
  webhook_limit_reached: { status: 409, text: "The agent has as many webhooks as it may have" },
  webhook_not_active: { status: 409, text: "The delivery's webhook was removed or is disabled" },
  request_timeout: { status: 408, text: "The request took too long to arrive" },
  version_mismatch: { status: 412, text: "The entry's version isn't the one that the request expects" },
  payload_too_large: { status: 413, text: "The body is larger than 256 KB" },
  unsupported_media_type: { status: 415, text: "The body must be sent as application/json" },
  amount_out_of_range: {
    status: 422,
    text: "The deposit is below the token's minimum or too large for an escrow",
  },
  currency_not_settleable: { status: 422, text: "This currency has no escrow token on this network" },
  payment_method_not_supported: { status: 422, text: "This payment method isn't available on this network" },
  headers_too_large: { status: 431, text: "The request's headers are too large" },
  rate_limit_exceeded: { status: 429, text: "Rate limit exceeded" },
  too_many_attempts: { status: 429, text: "Too Many Attempts" },
  internal_error: { status: 500, text: "Something went wrong on our side" },
  chain_unavailable: { status: 503, text: "The chain is currently unavailable" },
  criteria_check_unavailable: { status: 503, text: "The criteria can't be evaluated at the moment" },
  download_not_built: { status: 503, text: "This service's operator hasn't built the package" },
  facilitator_unavailable: { status: 503, text: "The service that verifies payments is currently unavailable" },
  indexer_unavailable: { status: 503, text: "The subgraph is currently unavailable" },
  mail_unavailable: { status: 503, text: "This service has no mail server" },
  resolver_key_missing: { status: 503, text: "This service doesn't have the resolver's key for this network" },
  new_escrows_paused: { status: 503, text: "The escrow contract currently accepts no new escrows" },
  pages_not_built: { status: 503, text: "This service's operator hasn't built the web pages" },
  price_feed_unavailable: { status: 503, text: "No current price is available for this token" },
  search_unavailable: { status: 503, text: "Semantic search is currently unavailable" },
  service_unavailable: { status: 503, text: "The service is currently unavailable" },
} as const satisfies Record<string, { status: number; text: string }>;

/** A code from the catalogue. */
export type ErrorCode = keyof typeof ERROR_CATALOGUE;

/** `details` of an error; undefined for a code that never has any. */
type DetailsOf<Code extends ErrorCode> = Code extends keyof typeof ERROR_DETAILS
  ? z.input<(typeof ERROR_DETAILS)[Code]> | undefined
  : undefined;

/** Body of an error answer. */
interface ErrorBody {
  success: false;
  /** For people. */
  error: string;
  /** For programs. */
  code: ErrorCode;
  details?: unknown;
}

/** Body of the 401 of ucp messages. Its exact text is part of the protocol. */
export const inactiveKeyBody = z
  .strictObject({ error: z.literal(ERROR_CATALOGUE.inactive_api_key.text) })
  .meta({ id: "InactiveKeyError" });

/** Optional parts of an error. */
export interface ApiErrorOptions<Code extends ErrorCode = ErrorCode> {
  /** Facts for the client. Never secrets or internals. */
  details?: DetailsOf<Code>;
  /** Response headers. */
  headers?: Readonly<Record<string, string>>;
  /** Seconds after which a retry may succeed; sent as `Retry-After`. */
  retryAfterSeconds?: number;
  cause?: unknown;
}

/** An error that is reported to the client. Any other thrown value becomes `internal_error`. */
export class ApiError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly status: number;
  readonly details: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: Code, options: ApiErrorOptions<Code> = {}) {
    super(ERROR_CATALOGUE[code].text, { cause: options.cause });
    this.name = "ApiError";
    this.code = code;
    this.status = ERROR_CATALOGUE[code].status;
    this.details = options.details;
    this.headers = {
      ...options.headers,
      ...(options.retryAfterSeconds === undefined ? {} : { "Retry-After": String(options.retryAfterSeconds) }),
    };
  }

  /** The body of the answer. */
  toBody(): ErrorBody | z.infer<typeof inactiveKeyBody> {
    if (this.code === "inactive_api_key") return { error: ERROR_CATALOGUE.inactive_api_key.text };
    const body = { success: false as const, error: this.message, code: this.code };
    return this.details === undefined ? body : { ...body, details: this.details };
  }
}

/** One thing that is wrong with a request. */
export interface ValidationIssue {
  /** Where it is: `body.title`, `query.limit`, `params.id`. */
  path: string;
  message: string;
}

/** The error for a request that doesn't match its schema, with every issue. */
export function validationError(issues: readonly ValidationIssue[]): ApiError {
  return new ApiError("validation_error", { details: [...issues] });
}
