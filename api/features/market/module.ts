import type { Connection } from "mongoose";

import type { Logger } from "../../lib/logger.ts";
import { defineFeature } from "../feature.ts";
import { PUBLIC_MARKET_TIMINGS, PublicMarket } from "./public-market.ts";
import type { PublicMarketOptions } from "./public-market.ts";
import { readPublicStatus } from "./public-status.ts";
import { statusMinuteModel, StatusRecorder } from "./status-history.ts";
import { publicMarketRoutes } from "./routes.ts";
import type { PublicMarketDeps } from "./routes.ts";

/** Dependencies of the public market. */
export interface MarketModuleDeps extends Omit<PublicMarketOptions, "minutes"> {
  connection: Connection;
  log: Logger;
}

/** What anyone may read of the market, without a key. */
export const marketModule = defineFeature({
  routes: publicMarketRoutes,
  timings: PUBLIC_MARKET_TIMINGS,
  create({ connection, log, ...options }: MarketModuleDeps) {
    const minutes = statusMinuteModel(connection);
    const services: PublicMarketDeps = { publicMarket: new PublicMarket({ ...options, minutes }) };
    const status = () => readPublicStatus(options);
    const statusRecorder = new StatusRecorder({ minutes, status, now: options.now, log });
    return { services, models: { minutes }, apiLoops: [statusRecorder.loop], statusRecorder };
  },
});
