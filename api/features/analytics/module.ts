import { defineFeature } from "../feature.ts";
import { analyticsRoutes } from "./routes.ts";
import type { AnalyticsDeps } from "./routes.ts";

/** Scaling exponents of hourly series (decision 30). */
export const analyticsModule = defineFeature({
  routes: analyticsRoutes,
  create(analytics: AnalyticsDeps["analytics"]) {
    const services: AnalyticsDeps = { analytics };
    return { services };
  },
});
