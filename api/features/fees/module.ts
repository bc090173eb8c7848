import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { SENDING_CONFIRMATIONS } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { JobDefinition } from "../../jobs/define-job.ts";
import type { Clock } from "../../lib/clock.ts";
import { defineFeature } from "../feature.ts";
import { statementModels } from "./model.ts";
import { monthNamed } from "./months.ts";
import { paymentModel } from "./payment-model.ts";
import { RebatePayments } from "./payments.ts";
import type { RebatePaymentsDeps } from "./payments.ts";
import { rebateRoutes } from "./rebate-routes.ts";
import type { RebateDeps } from "./rebate-routes.ts";
import { feeRoutes } from "./routes.ts";
import type { FeesDeps } from "./routes.ts";
import { createStatementReader } from "./statement-reader.ts";
import { StatementWriter } from "./statements.ts";

export { PayingStoppedError } from "./payments.ts";
export type { ListedRebate, RebatePayments } from "./payments.ts";

/** Opens the payments of rebates, for the operator's command. */
export function rebatePayments(connection: Connection, deps: Omit<RebatePaymentsDeps, "connection">): RebatePayments {
  return new RebatePayments({ connection, ...deps });
}

/** Whether a text names a month, such as 2026-10. */
export function isMonth(text: string): boolean {
  try {
    monthNamed(text);
    return true;
  } catch {
    return false;
  }
}

/** Depths of the reads for statements. Tests change them. */
export interface StatementTimings {
  /** Blocks that must follow the block at which a month's settlements are read. */
  statementConfirmations: number;
}

const STATEMENT_TIMINGS: StatementTimings = { statementConfirmations: SENDING_CONFIRMATIONS };

/** Dependencies of the fees feature. */
export interface FeesModuleDeps {
  connection: Connection;
  /** The mainnet and its subgraph: only mainnet settlements count. */
  chain: ChainClient;
  indexer: Indexer;
  clock: Clock;
  timings: StatementTimings;
}

const WRITE_EVERY_MS = 600_000;
/** A month has as many reads as its sellers and settlements need. */
const WRITE_LOCK_MS = 3_600_000;

/** Fee tiers by settled volume, and the rebates that follow from them. */
export const feesModule = defineFeature({
  routes: [...feeRoutes, ...rebateRoutes],
  timings: STATEMENT_TIMINGS,
  create({ connection, chain, indexer, clock, timings }: FeesModuleDeps) {
    const models = statementModels(connection);
    const payments = paymentModel(connection);
    const statementWriter = new StatementWriter({
      connection,
      models,
      chain,
      indexer,
      now: () => clock.now(),
      confirmations: timings.statementConfirmations,
    });
    const services: FeesDeps & RebateDeps = {
      fees: { indexer, clock },
      rebates: createStatementReader(models, payments),
    };
    const jobs: JobDefinition[] = [
      {
        name: "fees.write-statements",
        everyMs: WRITE_EVERY_MS,
        lockLifetimeMs: WRITE_LOCK_MS,
        run: async ({ log, signal }) => {
          await statementWriter.writeDue(log, signal);
        },
      },
    ];
    return { services, jobs, models: { ...models, payments }, statementWriter };
  },
});
