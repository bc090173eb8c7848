import type { IncomingHttpHeaders } from "node:http";

import { API_KEY_HEX_LENGTH, API_KEY_PREFIX } from "../config/constants.ts";
import { sha256Hex } from "../lib/ids.ts";
import type { Caller } from "./define-route.ts";
import { ApiError } from "./errors.ts";
import type { Authenticator } from "./pipeline.ts";

const API_KEY = new RegExp(`^${API_KEY_PREFIX}[0-9a-fA-F]{${API_KEY_HEX_LENGTH}}$`);
const BEARER = /^Bearer (.+)$/i;

/** Finds the owner of a key that is neither revoked nor expired, by the hash of the key. */
export interface KeyDirectory {
  findCaller(keyHash: string): Promise<Caller | undefined>;
}

/**
 * The hash under which a key is stored and found (decision 21). Keys carry 256 random bits, so one round of SHA-256
 * is enough, and looking up the hash tells nothing about a key through the time it takes.
 */
export function hashApiKey(apiKey: string): string {
  return sha256Hex(apiKey);
}

/**
 * Authenticates by `X-API-Key`, or by `Authorization: Bearer` when the former is absent (section 5.2). A key with
 * anything around it, whitespace included, is invalid (section 5.3).
 */
export function createAuthenticator(keys: KeyDirectory): Authenticator {
  return {
    async authenticate(policy, headers) {
      if (policy === "none") return undefined;
      const presented = presentedKey(headers);
      if (presented === undefined && policy === "optionalApiKey") return undefined;
      if (presented === undefined || !API_KEY.test(presented)) throw new ApiError("invalid_api_key");
      const caller = await keys.findCaller(hashApiKey(presented));
      if (caller === undefined) throw new ApiError("invalid_api_key");
      return caller;
    },
  };
}

function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const preferred = headers["x-api-key"];
  // Repeated headers arrive joined by a comma, which no key contains.
  if (preferred !== undefined) return String(preferred);
  if (headers.authorization === undefined) return undefined;
  return BEARER.exec(headers.authorization)?.[1] ?? "";
}
