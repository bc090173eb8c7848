import type { Connection, Model } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { JobDefinition } from "../../jobs/define-job.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { StandingRecord } from "../agents/model.ts";
import type { RecheckQueue } from "../chain-follower/recheck-queue.ts";
import { defineFeature } from "../feature.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { ChainProgress } from "../transactions/ports.ts";
import { Differences } from "./differences.ts";
import { addReconciliationGauges } from "./gauges.ts";
import { reconciliationModels } from "./model.ts";
import { DailyPass, RECONCILIATION_TIMINGS } from "./pass.ts";
import type { ReconciliationTimings } from "./pass.ts";
import { createSources } from "./sources.ts";

export type { ReconciliationTimings } from "./pass.ts";

/** Dependencies of the reconciliation. */
export interface ReconciliationModuleDeps {
  connection: Connection;
  chains: Readonly<Record<Network, Pick<ChainClient, "head" | "escrowAt" | "scoreAt">>>;
  indexers: Readonly<Record<Network, Pick<Indexer, "escrows" | "agents">>>;
  transactions: TransactionModel;
  standings: Model<StandingRecord>;
  progress: Pick<ChainProgress, "reached">;
  rechecks: RecheckQueue;
  /** Copies the scores of wallets from a network's subgraph again. */
  syncScores: (network: Network, wallets: readonly string[]) => Promise<void>;
  metrics: Pick<Metrics, "addGauge">;
  now: () => Date;
  timings: ReconciliationTimings;
}

const RUN_EVERY_MS = 60_000;
/** Long enough for a run, which reads up to 10,000 copies. */
const RUN_LOCK_MS = 900_000;

/** Compares the copies of escrows and scores with the contracts once a day, and reads those again that differ. */
export const reconciliationModule = defineFeature({
  routes: [],
  timings: RECONCILIATION_TIMINGS,
  create({ connection, chains, indexers, rechecks, metrics, now, timings, ...deps }: ReconciliationModuleDeps) {
    const models = reconciliationModels(connection);
    const { transactions, standings, progress } = deps;

    function createNetwork(network: Network): DailyPass {
      const sources = createSources({ network, chain: chains[network], rechecks });
      const differences = new Differences({
        network,
        differences: models.differences,
        sources,
        rechecks,
        now,
        indexer: indexers[network],
        copies: {
          transaction: (transactionId) => transactions.findById(transactionId).lean(),
          standing: (wallet) => standings.findById(`${network}:${wallet}`).lean(),
        },
        syncScores: (wallets) => deps.syncScores(network, wallets),
        recheckAfterMs: timings.recheckAfterMs,
      });
      return new DailyPass({
        network,
        progress: models.passes[network],
        transactions,
        standings,
        sources,
        differences,
        now,
        timings,
        chain: chains[network],
        reached: () => progress.reached(),
      });
    }

    const networks = { "base-sepolia": createNetwork("base-sepolia"), base: createNetwork("base") };
    const jobs: JobDefinition[] = NETWORKS.map((network) => ({
      name: `reconciliation.compare-${network}`,
      everyMs: RUN_EVERY_MS,
      lockLifetimeMs: RUN_LOCK_MS,
      run: ({ log, signal }: { log: Logger; signal: AbortSignal }) => networks[network].run(log, signal),
    }));
    addReconciliationGauges(metrics, models, now);
    return { services: {}, models, jobs, networks };
  },
});
