import type { Hex } from "viem";

/** Base of every error that this package throws on purpose. Contract calls that viem rejects become one, too. */
export class MarketplaceError extends Error {
  override readonly name: string = "MarketplaceError";
}

/** What an {@link ApiError} is made of. */
export interface ApiFailure {
  method: string;
  path: string;
  status: number;
  /** Parsed body, or its text when it isn't JSON. */
  body: unknown;
  retryAfterSeconds: number | undefined;
}

/** The API answered with an error (specification section 7). `code` decides what to do; `message` is for people. */
export class ApiError extends MarketplaceError {
  override readonly name = "ApiError";
  /** HTTP status. */
  readonly status: number;
  /** Code of the error catalogue, for example `service_not_active`; undefined when a proxy or CDN answered instead. */
  readonly code: string | undefined;
  /** What the error is about, by code. For `validation_error` every issue. */
  readonly details: unknown;
  /** Seconds after which another attempt makes sense, from `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** The whole body. A 402 of a spent budget has no code and says here how to pay. */
  readonly body: unknown;

  constructor({ method, path, status, body, retryAfterSeconds }: ApiFailure) {
    const { error, code, details } = fieldsOf(body);
    super(`${method} ${path} answered ${status}${code === undefined ? "" : ` ${code}`}: ${error}`);
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
    this.body = body;
  }
}

/** No answer arrived: the connection failed or broke. The request may have been carried out. */
export class NetworkError extends MarketplaceError {
  override readonly name = "NetworkError";
}

/** Something took longer than its timeout. */
export class TimeoutError extends MarketplaceError {
  override readonly name = "TimeoutError";
  /** Milliseconds that were allowed. */
  readonly timeoutMs: number;

  constructor(what: string, timeoutMs: number, options?: ErrorOptions) {
    super(`${what} took longer than ${timeoutMs} ms`, options);
    this.timeoutMs = timeoutMs;
  }
}

/** The deal ended in another way, so the awaited status can't come any more. */
export class DealEndedError extends MarketplaceError {
  override readonly name = "DealEndedError";
  /** The final status of the transaction. */
  readonly status: string;

  constructor(transactionId: string, status: string, wanted: readonly string[]) {
    super(`transaction ${transactionId} ended as ${status} and can't become ${wanted.join(" or ")}`);
    this.status = status;
  }
}

/** A contract refuses the call: the error of `IEscrow` by name, with its values. */
export class ContractRevertedError extends MarketplaceError {
  override readonly name = "ContractRevertedError";
  readonly functionName: string;
  /** For example `DeadlinePassed`; undefined when the contract gave none that this package knows. */
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

/** The call asks for what this client can't or won't do: no wallet, another chain, terms beyond a limit it was given. */
export class RefusedError extends MarketplaceError {
  override readonly name = "RefusedError";
}

/** Statuses that say "not now" and nothing about the request. */
const TRANSIENT_STATUSES: readonly number[] = [429, 502, 503, 504];

/** Whether another attempt can succeed without any change. It is safe only if the request is idempotent. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ApiError) return TRANSIENT_STATUSES.includes(error.status);
  return error instanceof NetworkError || error instanceof TimeoutError;
}

function fieldsOf(body: unknown): { error: string; code: string | undefined; details: unknown } {
  if (typeof body !== "object" || body === null) {
    return { error: String(body).slice(0, 200), code: undefined, details: undefined };
  }
  const { error, message, code, details } = body as Record<string, unknown>;
  const text = [error, message].filter((part) => typeof part === "string").join(": ");
  return { error: text, code: typeof code === "string" ? code : undefined, details };
}
