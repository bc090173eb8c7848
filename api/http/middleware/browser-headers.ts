import cors from "@koa/cors";
import type { Middleware } from "koa";

/** Headers of answers that scripts on other sites may read. */
const EXPOSED_HEADERS = [
  ...["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "X-Request-Id", "ETag"],
  ...["RateLimit", "RateLimit-Policy"],
  ...["Idempotency-Replayed", "PAYMENT-REQUIRED", "PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE", "Location"],
  ...["X-Event-Stream-Position", "WWW-Authenticate"],
];
/** Headers of requests that scripts on other sites may set. */
const ALLOWED_HEADERS = [
  ...["Content-Type", "X-API-Key", "Authorization", "Idempotency-Key", "X-Request-Id", "If-Match", "If-None-Match"],
  ...["Last-Event-ID", "X-PAYMENT", "PAYMENT-SIGNATURE", "Signature", "Signature-Input", "Content-Digest"],
  // The official x402 clients send this one, although it belongs to answers.
  "Access-Control-Expose-Headers",
  // Of the Model Context Protocol.
  ...["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"],
  // Bodies may be compressed.
  "Content-Encoding",
];
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/**
 * Lets scripts on these sites call the API; `*` means every site. Keys are in headers and never in cookies, a
 * page's session counts for this service's own origin alone, and credentials are never allowed: a site gains nothing from its
 * visitors' browsers.
 */
export function crossOrigin(origins: readonly string[]): Middleware {
  return cors({
    origin: (context) => {
      if (origins.includes("*")) return "*";
      const origin = context.get("Origin");
      return origins.includes(origin) ? origin : "";
    },
    allowMethods: ["GET", "POST", "PATCH", "DELETE"],
    exposeHeaders: EXPOSED_HEADERS,
    allowHeaders: ALLOWED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
  });
}

const HSTS_SECONDS = 31_536_000;

/** Headers that tell browsers to treat an answer as data: not as a page, a frame or another content type. */
export function securityHeaders(publicUrl: string): Readonly<Record<string, string>> {
  const isSecure = publicUrl.startsWith("https:");
  return {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    ...(isSecure ? { "Strict-Transport-Security": `max-age=${HSTS_SECONDS}; includeSubDomains` } : {}),
  };
}
