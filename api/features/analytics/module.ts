import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { Lease, leaseModel } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import { defineFeature } from "../feature.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { ChainProgress } from "../transactions/ports.ts";
import { keptModels, marketModel } from "./market-model.ts";
import { MarketRollup, MARKET_TIMINGS } from "./market-rollup.ts";
import type { MarketTimings } from "./market-rollup.ts";
import { marketRoutes } from "./market-routes.ts";
import type { MarketDeps } from "./market-routes.ts";
import { analyticsRoutes } from "./routes.ts";
import type { AnalyticsDeps } from "./routes.ts";

export type { MarketTimings };

/** Dependencies of the analytics feature. */
export interface AnalyticsModuleDeps {
  connection: Connection;
  chains: Readonly<Record<Network, Pick<ChainClient, "block">>>;
  indexers: AnalyticsDeps["analytics"]["indexers"];
  transactions: TransactionModel;
  /** How far the copies of the chain's moves have come. */
  reached: ChainProgress["reached"];
  log: Logger;
  /** Names this process in leases. */
  processId: string;
  timings: MarketTimings;
}

/** Scaling exponents of hourly series, and figures of the whole market. */
export const analyticsModule = defineFeature({
  routes: [...analyticsRoutes, ...marketRoutes],
  timings: MARKET_TIMINGS,
  create({ connection, chains, indexers, log, processId, timings, ...deps }: AnalyticsModuleDeps) {
    const figures = marketModel(connection);
    const kept = keptModels(connection);
    const leases = leaseModel(connection);
    const createNetwork = (network: Network) =>
      new MarketRollup({
        network,
        connection,
        figures,
        kept,
        timings,
        ...deps,
        chain: chains[network],
        lease: new Lease({
          leases,
          name: `analytics.market:${network}`,
          owner: processId,
          ttlMs: timings.marketLeaseMs,
        }),
        log: log.child({ network }),
      });
    const market = { "base-sepolia": createNetwork("base-sepolia"), base: createNetwork("base") };
    const services: AnalyticsDeps & MarketDeps = { analytics: { indexers }, market: { figures } };
    return { services, models: { figures, kept }, loops: NETWORKS.map((network) => market[network].loop), market };
  },
});
