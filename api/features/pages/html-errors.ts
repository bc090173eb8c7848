import type { Middleware } from "koa";

import { ApiError } from "../../http/errors.ts";
import type { RequestState } from "../../http/middleware/request-context.ts";
import { pageAnswer } from "./page-answer.ts";
import type { Pages } from "./pages.ts";

const NOT_FOUND = 404;
const TOO_MANY = 429;
const READING = ["GET", "HEAD"];
/** Paths for programs. Their errors stay JSON, also for a browser. */
const FOR_PROGRAMS = /^\/(api|v1|mcp|internal|\.well-known)(\/|$)/;

/** Shows a person an address that doesn't exist as a page. Everything else keeps its JSON. */
export function htmlErrors(pages: Pages): Middleware<RequestState> {
  return async (context, next) => {
    try {
      await next();
    } catch (error) {
      const known = error instanceof ApiError ? (error as ApiError) : undefined;
      const isShown = known?.status === NOT_FOUND || known?.status === TOO_MANY;
      const isPerson =
        READING.includes(context.method) &&
        !FOR_PROGRAMS.test(context.path) &&
        context.accepts(["json", "html"]) === "html";
      if (known === undefined || !isShown || !isPerson) throw error;
      const retryAfter = known.headers["Retry-After"];
      const page = await pages.problem(known.status, retryAfter === undefined ? undefined : Number(retryAfter));
      if (page === undefined) throw error;
      const { raw, headers } = pageAnswer(page, context.headers);
      context.state.code = known.code;
      context.status = known.status;
      context.set({ ...known.headers, ...headers, Vary: "Accept, Accept-Encoding" });
      context.body = raw;
    }
  };
}
