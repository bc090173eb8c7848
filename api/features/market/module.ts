import { defineFeature } from "../feature.ts";
import { PUBLIC_MARKET_TIMINGS, PublicMarket } from "./public-market.ts";
import type { PublicMarketOptions } from "./public-market.ts";
import { publicMarketRoutes } from "./routes.ts";
import type { PublicMarketDeps } from "./routes.ts";

/** What anyone may read of the market, without a key. */
export const marketModule = defineFeature({
  routes: publicMarketRoutes,
  timings: PUBLIC_MARKET_TIMINGS,
  create(options: PublicMarketOptions) {
    const services: PublicMarketDeps = { publicMarket: new PublicMarket(options) };
    return { services };
  },
});
