import { API_KEY_HEX_LENGTH, API_KEY_PREFIX } from "../config/constants.ts";
import { sha256Hex } from "../lib/ids.ts";
import type { DistinctHeaders } from "./admission.ts";
import type { AuthPolicy } from "./define-route.ts";
import { ApiError } from "./errors.ts";
import type { ApiErrorOptions } from "./errors.ts";

const API_KEY = new RegExp(`^${API_KEY_PREFIX}[0-9a-fA-F]{${API_KEY_HEX_LENGTH}}$`);
const BEARER = /^Bearer (.+)$/i;

/**
 * The hash under which a key is stored and found. Keys have 256 random bits, so one round of SHA-256 is
 * enough, and the time of a lookup by hash reveals nothing about a key.
 */
export function hashApiKey(apiKey: string): string {
  return sha256Hex(apiKey);
}

/**
 * Reads the key of a request from `X-API-Key` or `Authorization: Bearer` and hashes it. A key with
 * anything around it, even whitespace, is invalid. A request may repeat its key. With two different keys
 * the caller is ambiguous, so neither counts.
 * @returns the key's hash, "absent" or "invalid"
 */
function presentedKey(headers: DistinctHeaders): { hash: string } | "absent" | "invalid" {
  const [presented, ...others] = presentedKeys(headers);
  if (presented === undefined) return "absent";
  if (others.length > 0 || !API_KEY.test(presented)) return "invalid";
  return { hash: hashApiKey(presented) };
}

/**
 * The key of a request that counts under a policy. `X-API-Key` doesn't for a route that takes only bearer keys, but another
 * key in it makes the caller ambiguous there, too.
 */
export function keyFor(auth: AuthPolicy, headers: DistinctHeaders): ReturnType<typeof presentedKey> {
  if (auth === "none" || auth === "admin") return "absent";
  if (auth !== "bearerKey") return presentedKey(headers);
  return presentedKeys(headers).size > 1 ? "invalid" : presentedKey({ authorization: headers["authorization"] });
}

/** How keys are sent (RFC 6750); the realm names what they open. */
const CHALLENGE = 'Bearer realm="agent-marketplace"';
const HINT =
  "Send a key as X-API-Key or as Authorization: Bearer. POST /api/v1/auth/register registers a wallet and issues its first key; " +
  "POST /api/v1/auth/keys issues another one for a registered wallet. Both take a text that the wallet signs.";
const ADMIN_HINT = "Send the operator's ADMIN_API_KEY as Authorization: Bearer.";

/** The 401 for a request without a valid key: it says how to get one. */
export function keyRefused(
  auth: AuthPolicy,
  options: Pick<ApiErrorOptions, "headers" | "retryAfterSeconds"> = {},
): ApiError {
  return new ApiError(refusalOf(auth), {
    ...options,
    details: { hint: auth === "admin" ? ADMIN_HINT : HINT },
    headers: { ...options.headers, "WWW-Authenticate": CHALLENGE },
  });
}

/** Code of the 401 for a request without a valid key. */
export function refusalOf(auth: AuthPolicy): "inactive_api_key" | "invalid_api_key" {
  return auth === "bearerKey" ? "inactive_api_key" : "invalid_api_key";
}

/** The distinct keys of a request. With an `X-API-Key`, credentials of another scheme are ignored. */
function presentedKeys(headers: DistinctHeaders): Set<string> {
  const preferred = headers["x-api-key"] ?? [];
  const bearer = (headers["authorization"] ?? []).flatMap((line) => {
    const key = BEARER.exec(line)?.[1];
    if (key !== undefined) return [key];
    return preferred.length > 0 ? [] : [""];
  });
  return new Set([...preferred, ...bearer]);
}
