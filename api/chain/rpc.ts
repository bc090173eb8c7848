import {
  BaseError,
  createPublicClient,
  http,
  HttpRequestError,
  InternalRpcError,
  LimitExceededRpcError,
  ResourceNotFoundRpcError,
  ResourceUnavailableRpcError,
  RpcRequestError,
  SocketClosedError,
  TimeoutError,
  UnknownRpcError,
} from "viem";
import type { HttpTransport, PublicClient } from "viem";

import type { Network } from "../config/constants.ts";
import { retry } from "../lib/retry.ts";
import { untilAborted } from "../lib/stopping.ts";
import { ChainUnavailableError } from "./errors.ts";

/** Limits for calls to one JSON-RPC server. */
export interface RpcOptions {
  network: Network;
  rpcUrl: string;
  /** Timeout of one attempt in milliseconds. */
  timeoutMs: number;
  /** Attempts per call, including the first. */
  attempts: number;
}

/** Runs a call with bounded retries. @throws ChainUnavailableError if the server stays unreachable */
export type RpcCall = <T>(call: (client: PublicClient<HttpTransport>) => Promise<T>) => Promise<T>;

const BASE_DELAY_MS = 100;
const MAX_DELAY_MS = 1_000;

/** Matches servers' errors for a missing block. Geth gives it the code of any bad input. */
const MISSING_BLOCK = /\b(?:header|blocks?)\b.* (?:not|cannot be) found/i;

/**
 * Whether an error says that a JSON-RPC server is unreachable, overloaded or behind another one that has named a block, so
 * that a retry may succeed.
 */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  const found = error.walk(
    (cause) =>
      cause instanceof HttpRequestError ||
      cause instanceof TimeoutError ||
      cause instanceof SocketClosedError ||
      cause instanceof LimitExceededRpcError ||
      cause instanceof ResourceNotFoundRpcError ||
      cause instanceof ResourceUnavailableRpcError ||
      cause instanceof InternalRpcError ||
      cause instanceof UnknownRpcError ||
      (cause instanceof RpcRequestError && MISSING_BLOCK.test(cause.details)),
  );
  return found !== null;
}

/** `fetch` with a timeout in milliseconds that includes the answer's body: viem's own ends with the headers. */
export function fetchWithin(timeoutMs: number): typeof fetch {
  return (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(timeoutMs) });
}

/**
 * The same calls, but each ends as soon as a signal aborts. A request that is under way then ends by its own limits.
 * @throws ChainUnavailableError then
 */
export function endingWith(rpc: RpcCall, network: Network, signal: AbortSignal): RpcCall {
  return async (call) => {
    try {
      signal.throwIfAborted();
      return await untilAborted(rpc(call), signal);
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw new ChainUnavailableError(network, error);
      throw error;
    }
  };
}

/** A read-only JSON-RPC client. Calls made in the same tick share one HTTP request. */
export function createRpc(options: RpcOptions): RpcCall {
  const client = createPublicClient({
    // viem's own retries have no jitter, so `retry` below is used instead.
    transport: http(options.rpcUrl, {
      timeout: options.timeoutMs,
      fetchFn: fetchWithin(options.timeoutMs),
      retryCount: 0,
      batch: true,
    }),
  });
  return async (call) => {
    try {
      return await retry(() => call(client), {
        attempts: options.attempts,
        baseDelayMs: BASE_DELAY_MS,
        maxDelayMs: MAX_DELAY_MS,
        isRetryable: isUnreachable,
      });
    } catch (error) {
      if (isUnreachable(error)) throw new ChainUnavailableError(options.network, error);
      throw error;
    }
  };
}
