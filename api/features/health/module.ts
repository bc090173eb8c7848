import type { Metrics } from "../../lib/metrics.ts";
import { defineFeature } from "../feature.ts";
import { addReadinessGauges } from "./gauges.ts";
import { createReadiness } from "./readiness.ts";
import type { ReadinessSources } from "./readiness.ts";
import { healthRoutes } from "./routes.ts";
import type { HealthDeps } from "./routes.ts";

/** Dependencies of the health feature. */
export interface HealthModuleDeps extends ReadinessSources {
  metrics: Pick<Metrics, "addGauge">;
}

/** Liveness and readiness. */
export const healthModule = defineFeature({
  routes: healthRoutes,
  create({ metrics, ...sources }: HealthModuleDeps) {
    const readiness = createReadiness(sources);
    addReadinessGauges(metrics, readiness);
    const services: HealthDeps = { readiness };
    return { services };
  },
});
