import type { Middleware } from "koa";

import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { ClientGoneError } from "../../lib/stopping.ts";
import { ApiError } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import { PROBLEM_TYPE, prefersProblem, toProblem } from "../problem.ts";

/** The middleware's state of a request. */
export interface RequestState {
  requestId: string;
  log: Logger;
  /** Path of the matched route with its parameters as placeholders. The access log can be grouped by it. */
  route?: string;
  agentId?: string | undefined;
  /** When a stream began to be sent, on the scale of `performance.now()`. Its length isn't the duration of an answer. */
  streamingSince?: number;
  /** Code of the error that the request was answered with. */
  code?: ErrorCode | undefined;
}

const CLIENT_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Translates an error from a layer that knows nothing about HTTP; undefined if it has no translation. */
export type ErrorTranslator = (error: unknown) => ApiError | undefined;

/** Dependencies of the request context. */
export interface RequestContextOptions {
  log: Logger;
  clock: Clock;
  translate: ErrorTranslator;
  metrics: Pick<Metrics, "answered">;
  /** Headers of every answer, unless something later sets other values. */
  defaultHeaders: Readonly<Record<string, string>>;
  /** The service's address, without a trailing slash. */
  publicUrl: string;
}

/**
 * Gives each request an id (the client's `X-Request-Id` if it is well-formed), logs one line when the request has been
 * answered, and turns every error into the error envelope, as problem details (RFC 9457) for clients that prefer them.
 */
export function requestContext(options: RequestContextOptions): Middleware<RequestState> {
  const { log, clock, translate, metrics, defaultHeaders, publicUrl } = options;
  // Every field of an access line is known, and looking for secrets in it would be a third of its cost.
  const accessLog = log.child({}, { redact: [] });
  return async (context, next) => {
    const startedAt = performance.now();
    const given = context.get("X-Request-Id");
    const requestId = CLIENT_REQUEST_ID.test(given) ? given : newId("req", clock.now());
    context.state.requestId = requestId;
    context.state.log = log.child({ requestId });
    context.set("X-Request-Id", requestId);
    context.set({ ...defaultHeaders });
    context.res.once("close", () => {
      const { method, status } = context;
      const { code } = context.state;
      const route = context.state.route ?? "(none)";
      const durationMs = performance.now() - startedAt;
      const seconds = ((context.state.streamingSince ?? performance.now()) - startedAt) / 1_000;
      metrics.answered({ method: knownMethod(method), route, status, code, seconds });
      accessLog.info(
        {
          requestId,
          method,
          route,
          status,
          durationMs: Math.round(durationMs),
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
        error instanceof ApiError
          ? (error as ApiError)
          : (translate(error) ?? new ApiError("internal_error", { cause: error }));
      if (known.status >= 500) context.state.log.error({ err: error }, known.message);
      context.state.code = known.code;
      context.status = known.status;
      context.set(known.headers);
      context.body = known.toBody();
    }
    const { code } = context.state;
    if (code === undefined || !prefersProblem(context.get("Accept"))) return;
    const body: unknown = typeof context.body === "string" ? JSON.parse(context.body) : context.body;
    context.body = toProblem(body as object, code, publicUrl);
    context.type = PROBLEM_TYPE;
  };
}

const METHODS = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"];

/** A method that clients make up must not make up a time series. */
function knownMethod(method: string): string {
  return METHODS.includes(method) ? method : "other";
}
