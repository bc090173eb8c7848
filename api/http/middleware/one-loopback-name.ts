import type { Middleware } from "koa";

import { LOOPBACK_NAMES } from "../page-session.ts";

const TEMPORARY = 307;
const READING = ["GET", "HEAD"];

/**
 * Sends a person who opens a page under another name of the loopback to the name in `PUBLIC_URL`: only there can pages sign in, and
 * what a page keeps in the browser belongs to one name. Programs use each of the names. Undefined for a service that isn't on
 * loopback, or has a certificate for one name.
 */
export function oneLoopbackName(publicUrl: string): Middleware | undefined {
  const service = new URL(publicUrl);
  if (service.protocol !== "http:" || !LOOPBACK_NAMES.includes(service.hostname)) return undefined;
  const others = LOOPBACK_NAMES.filter((name) => name !== service.hostname).map((hostname) => {
    const alias = new URL(publicUrl);
    alias.hostname = hostname;
    return alias.host;
  });
  return async (context, next) => {
    const isPage = READING.includes(context.method) && context.accepts(["json", "html"]) === "html";
    if (!isPage || !others.includes(context.host.toLowerCase())) {
      await next();
      return;
    }
    context.status = TEMPORARY;
    context.set("Location", service.origin + context.originalUrl);
    context.body = "";
  };
}
