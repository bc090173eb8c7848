import { z } from "zod";

import { networkSchema } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { marketAnswer, readMarketFigures } from "./market-answer.ts";
import { MARKET_WINDOWS } from "./market-model.ts";
import type { MarketModel } from "./market-model.ts";

/** Dependencies of the market route. */
export interface MarketDeps {
  market: { figures: MarketModel };
}

const readMarket = defineRoute({
  name: "analytics.readMarket",
  scope: "read",
  method: "GET",
  path: "/api/v1/analytics/market",
  tag: "Analytics",
  summary: "Volume, prices, times and disputes of the market, by network and category",
  description:
    "Figures of the escrows that ended within the window, computed every minute or so. To keep out wash trading, an escrow doesn't " +
    "count if the pair has more than half of all that one of the two has ended so far, from its fifth on. Such deals are in `excluded` alone.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  query: z.strictObject({ window: z.enum(MARKET_WINDOWS).default("7d"), network: networkSchema.optional() }),
  responses: { 200: marketAnswer },
}).handle(async ({ query }, { market }: MarketDeps) => ({
  status: 200,
  body: await readMarketFigures(market.figures, query),
}));

export const marketRoutes = [readMarket];
