import type { Network } from "../../config/constants.ts";
import type { Clock } from "../../lib/clock.ts";
import { defineFeature } from "../feature.ts";
import { internalRoutes } from "./routes.ts";
import type { InternalDeps } from "./routes.ts";

/** Dependencies of the internal routes. */
export interface InternalModuleDeps {
  /** INTERNAL_WEBHOOK_SECRET */
  secret: string | undefined;
  clock: Clock;
  /** Wakes the followers of these networks in any process of the service. */
  wake: (networks: readonly Network[]) => Promise<void>;
}

/** Webhooks that the service receives (decision 38). */
export const internalModule = defineFeature({
  routes: internalRoutes,
  create(chainPush: InternalModuleDeps) {
    const services: InternalDeps = { chainPush };
    return { services };
  },
});
