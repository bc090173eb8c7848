import { ArgumentError } from "./errors.ts";
import type { Wallet } from "./wallet.ts";

// Types don't hold for JavaScript callers, nor for values that were parsed or cast. These checks run before anything is sent
// or signed, so that a slip isn't taken for an outage, and a limit that isn't one never passes.

/** Longest time that timers keep; a longer one would end at once. In milliseconds. */
export const LONGEST_TIMER_MS = 2_147_483_647;

const METHODS: readonly unknown[] = ["GET", "POST", "PATCH", "PUT", "DELETE"];
const API_KEY = /^[\x21-\x7e]{1,255}$/;
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/** @throws ArgumentError */
export function requireObject(argument: string, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ArgumentError(argument, "an object", value);
  }
}

/** @throws ArgumentError */
export function requireText(argument: string, value: unknown): void {
  if (typeof value !== "string" || value === "") throw new ArgumentError(argument, "a text that isn't empty", value);
}

/** @throws ArgumentError */
export function requireInteger(argument: string, value: unknown, min: number, max: number): void {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return;
  throw new ArgumentError(argument, `a whole number from ${min} to ${max}`, value);
}

/** @param least in milliseconds @throws ArgumentError */
export function requireMs(argument: string, value: unknown, least = 0): void {
  if (typeof value === "number" && value >= least && value <= LONGEST_TIMER_MS) return;
  throw new ArgumentError(argument, `a number of milliseconds from ${least} to ${LONGEST_TIMER_MS}`, value);
}

/** An amount in smallest units. A number would compare, but NaN compares as if there were no limit. @throws ArgumentError */
export function requireUnits(argument: string, value: unknown): void {
  if (typeof value !== "bigint" || value < 0n) throw new ArgumentError(argument, "a bigint of 0n or more", value);
}

/** @throws ArgumentError */
export function requireHttpUrl(argument: string, value: unknown): void {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ArgumentError(argument, "an http or https address such as https://market.example", value);
  }
}

/** @throws ArgumentError, which never shows the key */
export function requireApiKey(value: unknown): void {
  if (typeof value === "string" && API_KEY.test(value)) return;
  throw new ArgumentError("apiKey", "1 to 255 visible ASCII characters", typeof value === "string" ? {} : value);
}

/** @throws ArgumentError, which never shows what was given: it may be a private key */
export function requireWallet(argument: string, value: unknown): asserts value is Wallet {
  const { account, chain, signMessage } = (value ?? {}) as Partial<Wallet>;
  if (typeof account?.address === "string" && typeof chain?.id === "number" && typeof signMessage === "function")
    return;
  const given = typeof value === "string" ? {} : value;
  throw new ArgumentError(argument, "a wallet client of viem with an account and a chain", given);
}

/**
 * A record's id as a segment of a path. An empty one would name the list instead, and dots another record's parent.
 * @throws ArgumentError
 */
export function segment(argument: string, id: unknown): string {
  if (typeof id === "string" && !["", ".", ".."].includes(id)) return encodeURIComponent(id);
  throw new ArgumentError(argument, "the id of a record", id);
}

/** The parts of a request that a caller may set. */
interface RequestArguments {
  method?: unknown;
  path?: unknown;
  query?: unknown;
  body?: unknown;
  bodyText?: unknown;
  headers?: unknown;
  idempotencyKey?: unknown;
  signal?: unknown;
  timeoutMs?: unknown;
}

/** @throws ArgumentError for a request that can't be sent, or would go elsewhere */
export function requireRequest(request: RequestArguments): void {
  requireObject("request", request);
  const { method, path, query, body, bodyText, headers, idempotencyKey, signal, timeoutMs } = request;
  if (!METHODS.includes(method)) throw new ArgumentError("method", METHODS.join(", "), method);
  if (typeof path !== "string" || !path.startsWith("/")) {
    throw new ArgumentError("path", "a path that begins with /, such as /api/v1/services", path);
  }
  if (query !== undefined) requireQuery(query);
  if (body !== undefined && (typeof body !== "object" || body === null)) {
    throw new ArgumentError("body", "an object", body);
  }
  if (bodyText !== undefined) requireText("bodyText", bodyText);
  if (method === "GET" && (body !== undefined || bodyText !== undefined)) {
    throw new ArgumentError("body", "left out of a GET", body ?? bodyText);
  }
  if (headers !== undefined) requireHeaders(headers);
  if (idempotencyKey !== undefined) requireIdempotencyKey(idempotencyKey);
  if (signal !== undefined && typeof (signal as AbortSignal | null)?.throwIfAborted !== "function") {
    throw new ArgumentError("signal", "an AbortSignal", signal);
  }
  if (timeoutMs !== undefined) requireMs("timeoutMs", timeoutMs, 1);
}

function requireQuery(query: unknown): void {
  requireObject("query", query);
  for (const [name, value] of Object.entries(query as object) as [string, unknown][]) {
    const isUsable = ["undefined", "string", "boolean", "bigint"].includes(typeof value) || Number.isFinite(value);
    if (!isUsable) throw new ArgumentError(`query.${name}`, "a text, a finite number, a bigint or a boolean", value);
  }
}

function requireHeaders(headers: unknown): void {
  requireObject("headers", headers);
  for (const [name, value] of Object.entries(headers as object) as [string, unknown][]) {
    try {
      if (typeof value !== "string") throw new TypeError();
      new Headers({ [name]: value });
    } catch {
      throw new ArgumentError(`headers.${name}`, "a name and a text that HTTP allows", {});
    }
  }
}

function requireIdempotencyKey(key: unknown): void {
  if (typeof key === "string" && IDEMPOTENCY_KEY.test(key)) return;
  throw new ArgumentError("idempotencyKey", "1 to 255 printable ASCII characters, without a space at either end", key);
}
