import type { IncomingHttpHeaders } from "node:http";

import type { Middleware } from "koa";

/** Who may speak to the endpoint from a browser. */
export interface DoorOptions {
  /** Address at which clients reach the API. */
  publicUrl: string;
  /** Sites whose scripts may call the API; `*` means every site. */
  corsOrigins: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const FORBIDDEN = 403;
/** Of the JSON-RPC error: the request was refused before its message was read. */
const REFUSED = -32_000;

/**
 * Refuses requests that a browser may have been tricked into. `Host` has to name this service, so that a name which a stranger
 * points at it opens nothing. A page that calls has to be of this service or of `CORS_ORIGINS`. Programs send no `Origin`.
 */
export function checkDoors(options: DoorOptions): Middleware {
  return async (context, next) => {
    const refusal = refusalOf(options, context.req.headers);
    if (refusal === undefined) {
      await next();
      return;
    }
    context.status = FORBIDDEN;
    context.body = { jsonrpc: "2.0", error: { code: REFUSED, message: refusal }, id: null };
  };
}

function refusalOf({ publicUrl, corsOrigins }: DoorOptions, { host, origin }: IncomingHttpHeaders): string | undefined {
  const own = new URL(publicUrl);
  const named = host === undefined ? null : URL.parse(`http://${host}`);
  if (named === null || ![...LOOPBACK, own.hostname].includes(named.hostname)) {
    return "Host isn't a name of this service";
  }
  if (origin === undefined || corsOrigins.includes("*") || corsOrigins.includes(origin)) return undefined;
  const isOwn = origin === own.origin || URL.parse(origin)?.host === host;
  return isOwn ? undefined : "Origin isn't this service, and not one that its operator has allowed";
}
