import { defineFeature } from "../feature.ts";
import { createDependencies } from "./dependencies.ts";
import type { DependencySources } from "./dependencies.ts";
import { healthRoutes } from "./routes.ts";
import type { HealthDeps } from "./routes.ts";

/** Liveness and readiness. */
export const healthModule = defineFeature({
  routes: healthRoutes,
  create(sources: DependencySources) {
    const services: HealthDeps = { dependencies: createDependencies(sources) };
    return { services };
  },
});
