import type { RouteDefinition } from "../http/define-route.ts";
import type { BackgroundLoop } from "../jobs/background-loop.ts";
import type { JobDefinition } from "../jobs/define-job.ts";

/** What a feature gives to the application. Further fields are what other features may use of it. */
export interface FeatureParts {
  /** What the handlers of its routes are given, by name. */
  services: object;
  /** For the worker. */
  jobs?: readonly JobDefinition<never>[];
  /** For the worker. */
  loops?: readonly BackgroundLoop[];
  /** Its collections by name. */
  models?: object;
}

/**
 * A feature as `features/<name>/module.ts` declares it. The routes are known before anything is connected, for the API
 * description; `create` wires the rest.
 */
export interface FeatureModule<Routes extends readonly RouteDefinition<never>[], Deps, Parts extends FeatureParts> {
  routes: Routes;
  /** @param deps what it needs from the platform and from other features, by name */
  create: (deps: Deps) => Parts;
}

/** Declares a feature. */
export function defineFeature<Routes extends readonly RouteDefinition<never>[], Deps, Parts extends FeatureParts>(
  feature: FeatureModule<Routes, Deps, Parts>,
): FeatureModule<Routes, Deps, Parts> {
  return feature;
}
