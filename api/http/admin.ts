import { timingSafeEqual } from "node:crypto";

import { sha256Hex } from "../lib/ids.ts";
import { keyRefused } from "./authenticate.ts";
import { ApiError } from "./errors.ts";
import type { Step } from "./pipeline.ts";

/** One call with the admin key. */
export interface AdminCall {
  requestId: string;
  method: string;
  /** As requested, so that it names the record. */
  path: string;
  /** Address of the client, following TRUST_PROXY. */
  ip: string;
}

/** Records the use of the admin key. */
export interface AdminAudit {
  /** Stores a call before it runs, so that no use stays unseen. Returns the id of its entry. */
  begin(call: AdminCall): Promise<string>;
  /** Adds how the call ended: the HTTP status, or null for an error that isn't in the catalogue. */
  end(entryId: string, status: number | null): Promise<void>;
}

const BEARER = /^Bearer (\S+)$/i;

/**
 * Authorizes admin routes: `Authorization: Bearer` with the admin key, compared in constant time. Each authorized call
 * is in the audit before its handler runs.
 * @param adminApiKey at least 32 characters (config/env.ts)
 */
export function createAdminStep(adminApiKey: string, audit: AdminAudit): Step {
  const expected = digestOf(adminApiKey);
  return async (context, next) => {
    const presented = BEARER.exec(context.headers.authorization ?? "")?.[1];
    if (presented === undefined || !timingSafeEqual(digestOf(presented), expected)) {
      throw keyRefused("admin");
    }
    const { requestId, method, path, ip, log } = context;
    const entryId = await audit.begin({ requestId, method, path, ip });
    log.info({ entryId }, "admin call");
    let status: number | null = null;
    try {
      const answer = await next();
      status = answer.status;
      return answer;
    } catch (error) {
      if (error instanceof ApiError) status = error.status;
      throw error;
    } finally {
      // The entry itself is stored; without its end it reads as a call whose outcome is unknown.
      await audit.end(entryId, status).catch((error: unknown) => {
        log.error({ err: error, entryId }, "couldn't add the outcome of an admin call to the audit");
      });
    }
  };
}

/** Digests have one length, which a comparison in constant time needs. */
function digestOf(key: string): Buffer {
  return Buffer.from(sha256Hex(key), "hex");
}
