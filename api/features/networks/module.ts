import { defineFeature } from "../feature.ts";
import { networkRoutes } from "./routes.ts";
import type { NetworksDeps } from "./routes.ts";

/** What can be settled where. */
export const networksModule = defineFeature({
  routes: networkRoutes,
  create: (deps: NetworksDeps) => ({ services: deps }),
});
