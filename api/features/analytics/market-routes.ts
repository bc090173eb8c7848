import { z } from "zod";

import { networkSchema } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { marketAnswer, readMarketFigures, MARKET_WINDOW_NAMES } from "./market-answer.ts";
import { LEAST_WEIGHT } from "./market-figures.ts";
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
    "Figures of the escrows that ended within the window, computed every minute or so. To keep out deals of wallets with themselves, a deal " +
    "counts if `min(1, distinctCounterparties / 10) * (1 - topCounterpartyShare / 2)` of its buyer or of its seller is at least " +
    `${LEAST_WEIGHT}, by what the two have settled up to now; the others are in \`excluded\` alone.`,
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  query: z.strictObject({ window: z.enum(MARKET_WINDOW_NAMES).default("7d"), network: networkSchema.optional() }),
  responses: { 200: marketAnswer },
}).handle(async ({ query }, { market }: MarketDeps) => ({
  status: 200,
  body: await readMarketFigures(market.figures, query),
}));

export const marketRoutes = [readMarket];
