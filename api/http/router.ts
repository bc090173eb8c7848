import { Router } from "@koa/router";
import type { Middleware } from "koa";

import { rateHeaders } from "./admission.ts";
import { createWorkSignals } from "../lib/stopping.ts";
import { pathsOf } from "./define-route.ts";
import type { RouteDefinition } from "./define-route.ts";
import { ApiError } from "./errors.ts";
import { runRoute } from "./pipeline.ts";
import type { PipelineOptions } from "./pipeline.ts";

/** Options for mounting routes. */
export type MountOptions = Omit<PipelineOptions, "signals" | "answers"> & {
  /** Aborted when the process begins to stop. */
  shutdown: AbortSignal;
  /** Whether the routes of the local stack exist. */
  isLocalStack: boolean;
  /** Aborted when the drain is nearly over: what is still under way is answered then. */
  drainEnd: AbortSignal;
};

/**
 * Mounts routes under every form of their paths. An unknown path is 404. A known path with another method is 405 with
 * `Allow`. Both count towards the limit of the client address. Admin routes and the operator's page exist only with `options.admin`, those of the
 * local stack only with `isLocalStack`.
 */
export function mountRoutes<Deps>(
  routes: readonly RouteDefinition<Deps>[],
  deps: Deps,
  { shutdown, drainEnd, isLocalStack, ...given }: MountOptions,
): Middleware[] {
  const options: PipelineOptions = {
    ...given,
    signals: createWorkSignals(shutdown),
    answers: createWorkSignals(drainEnd),
  };
  const router = new Router({ sensitive: true });
  for (const route of bySpecificity(routes)) {
    const needsAdminKey = route.auth === "admin" || route.needsAdminKey === true;
    if (needsAdminKey && options.admin === undefined) continue;
    if (route.audience === "localStack" && !isLocalStack) continue;
    for (const path of pathsOf(route.path)) {
      router.register(path.replaceAll(/\{(\w+)\}/g, ":$1"), [route.method], [runRoute(route, deps, options) as never]);
    }
  }
  const unmatched: Middleware = async (context) => {
    context.set(rateHeaders(await options.admissionControl.countAnonymous(context.ip)));
    const layers = router.match(context.path, context.method).path;
    // A fixed path such as `/messages/subscribe` isn't the message `subscribe`, so it has only its own methods.
    const parameters = Math.min(...layers.map(({ paramNames }) => paramNames.length));
    const closest = layers.filter(({ paramNames }) => paramNames.length === parameters);
    const allowed = closest.flatMap((layer) => layer.methods);
    if (allowed.length === 0) throw new ApiError("not_found");
    throw new ApiError("method_not_allowed", { headers: { Allow: [...new Set(allowed)].join(", ") } });
  };
  return [router.routes() as Middleware, unmatched];
}

/** Sorts fixed paths before those with parameters, so that `/agents/score` doesn't match as an agent's id. */
function bySpecificity<Deps>(routes: readonly RouteDefinition<Deps>[]): RouteDefinition<Deps>[] {
  const parameters = (route: RouteDefinition<Deps>) => route.path.split("{").length;
  return [...routes].sort((left, right) => parameters(left) - parameters(right));
}
