import type { Middleware } from "koa";

import { ApiError } from "../errors.ts";

/** Refuses an HTTP/1.1 request without `Host` (RFC 9112, 3.2). Node does the same, but without the body of our errors. */
export const requireHost: Middleware = async ({ req }, next) => {
  if (req.httpVersion === "1.1" && req.headers.host === undefined) {
    throw new ApiError("malformed_request", { headers: { Connection: "close" } });
  }
  await next();
};
