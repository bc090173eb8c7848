import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { defineFeature } from "../feature.ts";
import { feeRoutes } from "./routes.ts";
import type { FeesDeps } from "./routes.ts";

/** Dependencies of the fees feature. */
export interface FeesModuleDeps {
  /** The mainnet's subgraph. */
  indexer: Indexer;
  clock: Clock;
}

/** Fee tiers by settled volume. */
export const feesModule = defineFeature({
  routes: feeRoutes,
  create({ indexer, clock }: FeesModuleDeps) {
    const services: FeesDeps = { fees: { indexer, clock } };
    return { services };
  },
});
