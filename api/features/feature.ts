import type { RouteDefinition } from "../http/define-route.ts";
import type { BackgroundLoop } from "../jobs/background-loop.ts";
import type { JobDefinition } from "../jobs/define-job.ts";

/** The parts of a feature that the application uses. Any further fields are for other features. */
export interface FeatureParts {
  /** Services for the handlers of its routes, by name. */
  services: object;
  /** Run by the worker. */
  jobs?: readonly JobDefinition[];
  /** Run by the worker. */
  loops?: readonly BackgroundLoop[];
  /** Run by each process of the API. */
  apiLoops?: readonly BackgroundLoop[];
  /** Its collections by name. */
  models?: object;
}

/**
 * A feature as declared in `features/<name>/module.ts`. Its routes are known before anything is connected, because the
 * API description needs them; `create` wires the rest.
 */
export interface FeatureModule<
  Routes extends readonly RouteDefinition<never>[],
  Timings extends object,
  Deps,
  Parts extends FeatureParts,
> {
  routes: Routes;
  /** Durations for its waits and its background work. Tests shorten them. */
  timings?: Timings;
  /** @param deps what it needs from the platform and from other features, by name */
  create: (deps: Deps) => Parts;
}

/** Declares a feature. */
export function defineFeature<
  Routes extends readonly RouteDefinition<never>[],
  Timings extends object,
  Deps,
  Parts extends FeatureParts,
>(feature: FeatureModule<Routes, Timings, Deps, Parts>): FeatureModule<Routes, Timings, Deps, Parts> {
  return feature;
}
