import { API_KEY_HEX_LENGTH, API_KEY_PREFIX } from "../config/constants.ts";
import { sha256Hex } from "../lib/ids.ts";
import type { Caller } from "./define-route.ts";
import { ApiError } from "./errors.ts";
import type { Authenticator, DistinctHeaders } from "./pipeline.ts";

const API_KEY = new RegExp(`^${API_KEY_PREFIX}[0-9a-fA-F]{${API_KEY_HEX_LENGTH}}$`);
const BEARER = /^Bearer (.+)$/i;

/** Finds the owner of a key by its hash, if the key is neither revoked nor expired. */
export interface KeyDirectory {
  findCaller(keyHash: string): Promise<Caller | undefined>;
}

/**
 * The hash under which a key is stored and found (decision 21). Keys have 256 random bits, so one round of SHA-256 is
 * enough, and the time of a lookup by hash reveals nothing about a key.
 */
export function hashApiKey(apiKey: string): string {
  return sha256Hex(apiKey);
}

/**
 * Authenticates by `X-API-Key` or `Authorization: Bearer` (section 5.2). A key with anything around it, even
 * whitespace, is invalid (section 5.3). A request may repeat its key. With two different keys the caller is ambiguous,
 * so neither counts.
 */
export function createAuthenticator(keys: KeyDirectory): Authenticator {
  return {
    async authenticate(policy, headers) {
      // An admin is no agent: the step of the admin routes authorizes these calls.
      if (policy === "none" || policy === "admin") return undefined;
      const [presented, ...others] = presentedKeys(headers);
      if (presented === undefined && policy === "optionalApiKey") return undefined;
      if (presented === undefined || others.length > 0 || !API_KEY.test(presented)) {
        throw new ApiError("invalid_api_key");
      }
      const caller = await keys.findCaller(hashApiKey(presented));
      if (caller === undefined) throw new ApiError("invalid_api_key");
      return caller;
    },
  };
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
