import type { IncomingMessage } from "node:http";

import type { Middleware } from "koa";

/** Limits for reading an unwanted body. */
export interface DrainLimits {
  bytes: number;
  ms: number;
}

export const DRAIN_LIMITS: DrainLimits = { bytes: 1024 * 1024, ms: 2_000 };

/**
 * Reads the rest of a body that its route didn't want, before the answer is sent, so that the connection can be used for the next
 * request. After a body that is too long or too slow, the answer closes the connection.
 * @param end aborted when the process has no time left for that
 */
export function drainBody(end: AbortSignal, limits = DRAIN_LIMITS): Middleware {
  return async (context, next) => {
    await next();
    const { req } = context;
    if (req.readableEnded || !hasBody(req)) return;
    if (!(await isDrained(req, end, limits))) context.set("Connection", "close");
  };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined;
}

/** Resolves with whether the body has ended. If not, it is read on: what isn't read would reset the connection later. */
async function isDrained(request: IncomingMessage, end: AbortSignal, { bytes, ms }: DrainLimits): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let read = 0;
  const count = (chunk: Buffer) => {
    read += chunk.length;
    if (read > bytes) resolve(false);
  };
  const giveUp = () => {
    resolve(false);
  };
  const finish = () => {
    resolve(true);
  };
  const timer = setTimeout(giveUp, ms);
  end.addEventListener("abort", giveUp);
  request.on("data", count).on("end", finish).on("close", giveUp).on("error", giveUp);
  request.resume();
  if (end.aborted || request.destroyed || Number(request.headers["content-length"] ?? 0) > bytes) giveUp();
  const isWhole = await promise;
  clearTimeout(timer);
  end.removeEventListener("abort", giveUp);
  request.off("data", count).off("end", finish).off("close", giveUp);
  return isWhole;
}
