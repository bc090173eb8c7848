import type { Hex } from "viem";

import type { Approval } from "./generated/api-types.ts";

/** Base class of this package's errors, including those for contract calls that viem rejects. */
export class MarketplaceError extends Error {
  override readonly name: string = "MarketplaceError";
}

/** The parts of an {@link ApiError}. */
export interface ApiFailure {
  method: string;
  path: string;
  status: number;
  /** Parsed body, or its text if it isn't JSON. */
  body: unknown;
  retryAfterSeconds: number | undefined;
}

/** The API answered with an error. `code` is for programs, `message` for people. */
export class ApiError extends MarketplaceError {
  override readonly name = "ApiError";
  /** HTTP status. */
  readonly status: number;
  /** Code from the error catalogue, for example `service_not_active`; undefined if a proxy or CDN answered instead. */
  readonly code: string | undefined;
  /** Facts about the error; their form depends on the code. For `validation_error`, every issue. */
  readonly details: unknown;
  /** Seconds after which a retry may succeed, from `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** The whole body. A 402 for a used-up budget has no code; its body says how to pay. */
  readonly body: unknown;
  /** Method and path of the request. */
  readonly request: string;

  constructor({ method, path, status, body, retryAfterSeconds }: ApiFailure) {
    const { error, code, details } = parseFields(body);
    super(`${method} ${path} answered ${status}${code === undefined ? "" : ` ${code}`}: ${error}`);
    this.request = `${method} ${path}`;
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
    this.body = body;
  }
}

/** An argument of a call can't be used. Nothing was sent or signed. */
export class ArgumentError extends MarketplaceError {
  override readonly name = "ArgumentError";
  /** The argument, for example `maxAmount` or `retry.maxAttempts`. */
  readonly argument: string;
  /** What it has to be, for example `a bigint of 0n or more`. */
  readonly bound: string;

  constructor(argument: string, bound: string, given: unknown) {
    super(`${argument} must be ${bound}, not ${describe(given)}`);
    this.argument = argument;
    this.bound = bound;
  }
}

/** No answer arrived because the connection failed. The request may have been carried out. */
export class NetworkError extends MarketplaceError {
  override readonly name = "NetworkError";
}

/** Something took longer than its timeout. */
export class TimeoutError extends MarketplaceError {
  override readonly name = "TimeoutError";
  /** The timeout in milliseconds. */
  readonly timeoutMs: number;

  constructor(what: string, timeoutMs: number, options?: ErrorOptions) {
    super(`${what} took longer than ${timeoutMs} ms`, options);
    this.timeoutMs = timeoutMs;
  }
}

/** The deal ended in another status, so the awaited one can't be reached any more. */
export class DealEndedError extends MarketplaceError {
  override readonly name = "DealEndedError";
  /** The final status of the transaction. */
  readonly status: string;

  constructor(transactionId: string, status: string, wanted: readonly string[]) {
    super(`transaction ${transactionId} ended as ${status} and can't become ${wanted.join(" or ")}`);
    this.status = status;
  }
}

/** A contract refused the call. Has the name and values of its error, as declared in `IEscrow`. */
export class ContractRevertedError extends MarketplaceError {
  override readonly name = "ContractRevertedError";
  readonly functionName: string;
  /** For example `DeadlinePassed`; undefined if this package doesn't know the contract's error. */
  readonly errorName: string | undefined;
  readonly args: readonly unknown[];

  constructor(functionName: string, errorName: string | undefined, args: readonly unknown[], options?: ErrorOptions) {
    const reason = errorName === undefined ? "" : `: ${errorName}(${args.map(String).join(", ")})`;
    super(`${functionName} reverted${reason}`, options);
    this.functionName = functionName;
    this.errorName = errorName;
    this.args = args;
  }
}

/** A transaction was mined and reverted. */
export class TransactionRevertedError extends MarketplaceError {
  override readonly name = "TransactionRevertedError";
  readonly hash: Hex;

  constructor(functionName: string, hash: Hex) {
    super(`${functionName} was mined and reverted in transaction ${hash}`);
    this.hash = hash;
  }
}

/** The client itself refuses the call: no wallet, the wrong chain, or terms beyond a given limit. */
export class RefusedError extends MarketplaceError {
  override readonly name = "RefusedError";
}

/** A checkout is above its key's mandate, and nothing was bought. Once the wallet has granted `approval`, the same call buys it. */
export class ApprovalRequiredError extends MarketplaceError {
  override readonly name = "ApprovalRequiredError";
  readonly approval: Approval;

  constructor(approval: Approval) {
    super(`the checkout of ${approval.askedUsd} US dollars needs the wallet's approval ${approval.id}`);
    this.approval = approval;
  }
}

/** Statuses that mean "not now", regardless of the request. */
const TRANSIENT_STATUSES: readonly number[] = [429, 502, 503, 504];

/** The first attempt of this request is still being processed. */
const IN_PROGRESS = "request_in_progress";

/** Whether a retry of the same request can succeed. It is safe only if the request is idempotent. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ApiError) {
    return TRANSIENT_STATUSES.includes(error.status) || error.code === IN_PROGRESS || isPaymentUnderWay(error);
  }
  return error instanceof NetworkError || error instanceof TimeoutError;
}

/** A 402 that names a time asks for no money: the payment of the same request is on its way. */
function isPaymentUnderWay({ status, retryAfterSeconds }: ApiError): boolean {
  return status === 402 && retryAfterSeconds !== undefined;
}

function parseFields(body: unknown): { error: string; code: string | undefined; details: unknown } {
  if (typeof body !== "object" || body === null) {
    return { error: String(body).slice(0, 200), code: undefined, details: undefined };
  }
  const { error, message, code, details } = body as Record<string, unknown>;
  const text = [error, message].filter((part) => typeof part === "string").join(": ");
  return { error: text, code: typeof code === "string" ? code : undefined, details };
}

const LONGEST_SHOWN = 100;
/** Private keys, API keys and addresses with a password. */
const LOOKS_SECRET = /^(0x)?[0-9a-f]{64,}$|^svc_|@/i;

/** A value for a message. Objects and what looks like a secret show only their kind. */
function describe(value: unknown): string {
  if (typeof value === "string") {
    const isShown = value.length <= LONGEST_SHOWN && !LOOKS_SECRET.test(value);
    return isShown ? JSON.stringify(value) : `a text of ${value.length} characters`;
  }
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "what was given" : String(value);
}
