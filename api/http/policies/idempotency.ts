import { setTimeout as sleep } from "node:timers/promises";

import { sha256Hex } from "../../lib/ids.ts";
import { takesIdempotencyKeys } from "../define-route.ts";
import type { RouteDefinition } from "../define-route.ts";
import { ApiError, validationError } from "../errors.ts";
import { inputText, isStorable } from "../stored-response.ts";
import type { StorableResponse } from "../stored-response.ts";
import type { OperationStart } from "../operation.ts";
import type { RouteResponse, Step, ValidatedContext } from "../pipeline.ts";

/** A request with an `Idempotency-Key`. */
export interface KeyedRequest {
  /** Hash of caller, route and key: what the key is scoped to. */
  id: string;
  /** Hash of the request's input. A key belongs to one input. */
  fingerprint: string;
}

/** The state of a key when a request presents it. */
export type Claim =
  /** This request runs. `finish` or `release` must follow; until then `renew` keeps others from running it. */
  | { state: "claimed"; start: OperationStart; owner: string }
  /** Another request with this key is running. */
  | { state: "running" }
  /** The key belongs to another input. */
  | { state: "mismatch" }
  /** The request has been answered; null if its answer isn't kept. */
  | { state: "done"; answer: StorableResponse | null };

/** Remembers which keys have been used, for every process of the service. */
export interface IdempotencyKeys {
  /** How often a claim has to be renewed, in milliseconds. */
  readonly renewEveryMs: number;
  claim(request: KeyedRequest): Promise<Claim>;
  /** Keeps a claim from expiring. Never rejects. */
  renew(request: KeyedRequest, owner: string): Promise<void>;
  /** Marks the request as answered. A null answer isn't kept, so a repeat is refused. */
  finish(request: KeyedRequest, owner: string, answer: StorableResponse | null): Promise<void>;
  /** Lets the next repeat run, as the same operation. */
  release(request: KeyedRequest, owner: string): Promise<void>;
}

const HEADER = "idempotency-key";
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;
/** How long a request waits for another one with its key. */
const PATIENCE_MS = 5_000;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 400;

/**
 * Answers the repeat of a request with the answer of the first, except on routes without a rate limit and on those that
 * only read. A key is scoped to API key and route. Where anyone may call without an API key, it is also scoped to the body,
 * so that strangers can't use up each other's keys. Only final answers are kept. After a provisional answer or an error, the
 * repeat runs again as the same operation.
 */
export function idempotency(keys: IdempotencyKeys): Step<ValidatedContext> {
  return async (context, next) => {
    const key = context.headers[HEADER];
    if (key === undefined || !takesIdempotencyKeys(context.route)) return next();
    const request = keyedRequest(context, key);
    const claim = await waitForClaim(keys, request, context.signal);
    switch (claim.state) {
      case "mismatch":
        throw new ApiError("idempotency_key_reused");
      case "running":
        throw new ApiError("request_in_progress", { retryAfterSeconds: 1 });
      case "done":
        if (claim.answer === null) throw new ApiError("already_processed");
        return { ...claim.answer, headers: { ...claim.answer.headers, "Idempotency-Replayed": "true" } };
      case "claimed":
        context.operation.resumeFrom(claim.start);
        return runClaimed(keys, request, claim.owner, context, next);
    }
  };
}

/** @throws ApiError `validation_error` */
function keyedRequest(context: ValidatedContext, key: string | string[]): KeyedRequest {
  if (typeof key !== "string" || !KEY.test(key)) {
    const message = "Must have 1 to 255 printable ASCII characters";
    throw validationError([{ path: "headers.idempotency-key", message }]);
  }
  const { route, input } = context;
  // The same body under another condition, such as `If-Match`, is another request.
  const conditions = Object.keys(route.requestHeaders ?? {}).map((name) => context.headers[name.toLowerCase()] ?? null);
  const fingerprint = sha256Hex([inputText(input), ...conditions.map((value) => JSON.stringify(value))].join("|"));
  const scope = scopeOf(context, fingerprint);
  return { id: sha256Hex(JSON.stringify([...scope, route.method, route.path, key])), fingerprint };
}

function scopeOf({ route, caller }: ValidatedContext, fingerprint: string): string[] {
  if (caller !== undefined) return [caller.keyId];
  return route.auth === "admin" ? ["admin"] : ["", fingerprint];
}

/** The claim on a request, once no other request with its key is running or patience has ended. */
async function waitForClaim(keys: IdempotencyKeys, request: KeyedRequest, signal: AbortSignal): Promise<Claim> {
  const end = performance.now() + PATIENCE_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const claim = await keys.claim(request);
    if (claim.state !== "running" || performance.now() + pause > end) return claim;
    await sleep(pause, undefined, { signal }).catch(() => {
      signal.throwIfAborted();
    });
  }
}

async function runClaimed(
  keys: IdempotencyKeys,
  request: KeyedRequest,
  owner: string,
  context: ValidatedContext,
  next: () => Promise<RouteResponse>,
): Promise<RouteResponse> {
  const renewal = setInterval(() => void keys.renew(request, owner), keys.renewEveryMs);
  try {
    const answer = await next();
    if (!isFinal(context.route, answer)) await keys.release(request, owner);
    else await keys.finish(request, owner, context.route.storesResponse ? answer : null);
    return answer;
  } catch (error) {
    // If this fails too, the claim expires by itself.
    await keys.release(request, owner).catch((failure: unknown) => {
      context.log.warn({ err: failure }, "couldn't release an idempotency key");
    });
    throw error;
  } finally {
    clearInterval(renewal);
  }
}

const FIRST_ERROR = 400;

/** Whether a repeat should get the same answer. After "not yet" or an error the next request may have another outcome. */
function isFinal({ provisional }: RouteDefinition<never>, answer: RouteResponse): answer is StorableResponse {
  return answer.status < FIRST_ERROR && !provisional.includes(answer.status) && isStorable(answer);
}
