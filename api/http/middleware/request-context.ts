import type { Middleware } from "koa";

import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { Logger } from "../../lib/logger.ts";
import { ClientGoneError } from "../../lib/stopping.ts";
import { ApiError } from "../errors.ts";

/** What the middleware keeps about a request. */
export interface RequestState {
  requestId: string;
  log: Logger;
  /** Path of the matched route with its parameters as placeholders. The access log can be grouped by it. */
  route?: string;
  agentId?: string | undefined;
}

const CLIENT_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Translates an error from a layer that knows nothing about HTTP; undefined if it has no translation. */
export type ErrorTranslator = (error: unknown) => ApiError | undefined;

/**
 * Gives each request an id (the client's `X-Request-Id` if it is well-formed), logs one line when the request has been
 * answered, and turns every error into the envelope of decision 33.
 * @param defaultHeaders headers of every answer, unless something later sets other values
 */
export function requestContext(
  log: Logger,
  clock: Clock,
  translate: ErrorTranslator,
  defaultHeaders: Readonly<Record<string, string>>,
): Middleware<RequestState> {
  return async (context, next) => {
    const startedAt = performance.now();
    const given = context.get("X-Request-Id");
    const requestId = CLIENT_REQUEST_ID.test(given) ? given : newId("req", clock.now());
    context.state.requestId = requestId;
    context.state.log = log.child({ requestId });
    context.set("X-Request-Id", requestId);
    context.set("X-Content-Type-Options", "nosniff");
    context.set("Cache-Control", "no-store");
    context.set({ ...defaultHeaders });
    context.res.once("close", () => {
      context.state.log.info(
        {
          method: context.method,
          route: context.state.route ?? "(none)",
          status: context.status,
          durationMs: Math.round(performance.now() - startedAt),
          agentId: context.state.agentId,
          aborted: !context.res.writableFinished,
        },
        "request",
      );
    });
    try {
      await next();
    } catch (error) {
      // The client is gone, so nobody reads an answer, and nothing went wrong here.
      if (error instanceof ClientGoneError) return;
      const known =
        error instanceof ApiError ? error : (translate(error) ?? new ApiError("internal_error", { cause: error }));
      if (known.status >= 500) context.state.log.error({ err: error }, known.message);
      context.status = known.status;
      context.set(known.headers);
      context.body = known.toBody();
    }
  };
}
