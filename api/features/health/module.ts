import { defineFeature } from "../feature.ts";
import { createReadiness } from "./readiness.ts";
import type { ReadinessSources } from "./readiness.ts";
import { healthRoutes } from "./routes.ts";
import type { HealthDeps } from "./routes.ts";

/** Liveness and readiness. */
export const healthModule = defineFeature({
  routes: healthRoutes,
  create(sources: ReadinessSources) {
    const services: HealthDeps = { readiness: createReadiness(sources) };
    return { services };
  },
});
