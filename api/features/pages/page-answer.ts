import type { IncomingHttpHeaders } from "node:http";

import type { RawResult } from "../../http/define-route.ts";
import { answerText } from "../../http/prepared-text.ts";
import type { PageAsset } from "./bundle.ts";
import type { Page } from "./pages.ts";

/**
 * Scripts, styles and requests stay with this server, nothing runs that is written into a page, and text never becomes markup
 * (Trusted Types without any policy).
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** A browser asks again after this time; until then it shows what it has. */
const FRESH_SECONDS = 10;
const YEAR_SECONDS = 31_536_000;
const OK = 200;

const PAGE_HEADERS = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
};

/** The answer with a page; 304 if the client has it. Pages never depend on who asks. */
export function pageAnswer({ status, html }: Page, requested: IncomingHttpHeaders): RawResult {
  const type = "text/html; charset=utf-8";
  if (status === OK) {
    return answerText(html, requested, {
      type,
      cacheControl: `public, max-age=${FRESH_SECONDS}`,
      headers: PAGE_HEADERS,
    });
  }
  // Only what is there can be what the client has.
  const others = { ...requested, "if-none-match": undefined };
  return { ...answerText(html, others, { type, headers: PAGE_HEADERS }), status };
}

/** The answer with a file that pages load. Its name changes with its content, so no client asks for it twice. */
export function assetAnswer({ type, prepared }: PageAsset, requested: IncomingHttpHeaders): RawResult {
  return answerText(prepared, requested, { type, cacheControl: `public, max-age=${YEAR_SECONDS}, immutable` });
}
