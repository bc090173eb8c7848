import { defineFeature } from "../feature.ts";
import { sellerQueueRoutes } from "./routes.ts";

/** The seller's open work, read from transactions. */
export const sellerQueueModule = defineFeature({ routes: sellerQueueRoutes, create: () => ({ services: {} }) });
