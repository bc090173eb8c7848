import { defineFeature } from "../feature.ts";
import { networkRoutes } from "./routes.ts";
import type { NetworksDeps } from "./routes.ts";

/** The settlement networks with their contracts and tokens. */
export const networksModule = defineFeature({
  routes: networkRoutes,
  create: (deps: NetworksDeps) => ({ services: deps }),
});
