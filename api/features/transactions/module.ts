import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { createChainTime } from "../../chain/chain-time.ts";
import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { defineFeature } from "../feature.ts";
import type { WebhookSecrets } from "../webhooks/secrets/service.ts";
import { createDeclineRecords } from "./declines.ts";
import type { DeclineRecords } from "./declines.ts";
import { createDelivery } from "./delivery.ts";
import { createFunding } from "./funding.ts";
import { createJobAccess } from "./job-access.ts";
import { createListReader } from "./list-reader.ts";
import { transactionModel } from "./model.ts";
import type { ChainProgress, EndpointDirectory } from "./ports.ts";
import { sellerQueueRoutes } from "./queue-routes.ts";
import { createTransactionReader } from "./reader.ts";
import { transactionRoutes } from "./routes.ts";
import type { TransactionDeps } from "./routes.ts";
import { createTransactionService } from "./service.ts";

/** Maximum waits of requests. Tests shorten them. */
export interface TransactionTimings {
  /** How long fund, deliver and confirm wait for the subgraph, in milliseconds. */
  indexWaitMs: number;
  /** How long a read waits for a block that it must include, in milliseconds. */
  readWaitMs: number;
  /** Maximum age of the chain's time when it is compared with deadlines, in milliseconds. */
  chainTimeMaxAgeMs: number;
}

const TRANSACTION_TIMINGS: TransactionTimings = {
  indexWaitMs: 10_000,
  readWaitMs: 5_000,
  chainTimeMaxAgeMs: 500,
};

/** Dependencies of the transactions feature. */
export interface TransactionsModuleDeps {
  connection: Connection;
  chains: Readonly<Record<Network, ChainClient>>;
  indexers: Readonly<Record<Network, Indexer>>;
  clock: Clock;
  recorder: EventRecorder;
  progress: ChainProgress;
  endpoints: EndpointDirectory;
  /** Undefined without a master secret, so that no job token can be signed. */
  secrets: WebhookSecrets | undefined;
  publicUrl: string;
  timings: TransactionTimings;
}

/** Creates the reader of sellers' early declines. */
export function declineRecordsOf(connection: Connection): DeclineRecords {
  return createDeclineRecords(transactionModel(connection));
}

/** Deals after checkout: funding, delivery, confirmation and reading. */
export const transactionsModule = defineFeature({
  routes: [...transactionRoutes, ...sellerQueueRoutes],
  timings: TRANSACTION_TIMINGS,
  create({ connection, chains, indexers, clock, recorder, progress, timings, ...options }: TransactionsModuleDeps) {
    const { endpoints, secrets, publicUrl } = options;
    const { indexWaitMs, readWaitMs, chainTimeMaxAgeMs } = timings;
    const chainTimeOf = (network: Network) => createChainTime({ chain: chains[network], maxAgeMs: chainTimeMaxAgeMs });
    const chainTimes = { "base-sepolia": chainTimeOf("base-sepolia"), base: chainTimeOf("base") };
    const transactions = transactionModel(connection);
    const reader = createTransactionReader({ transactions, indexers, chainTimes, clock, waitMs: readWaitMs });
    const service = createTransactionService({
      reader,
      list: createListReader({ transactions, progress, indexers, waitMs: readWaitMs }),
      funding: createFunding({ transactions, reader, chains, waitMs: indexWaitMs }),
      delivery: createDelivery({
        connection,
        transactions,
        progress,
        recorder,
        reader,
        chains,
        clock,
        waitMs: indexWaitMs,
      }),
      chains,
      // Without a master secret no token can be signed, but the transaction can still be read.
      jobAccess:
        secrets === undefined
          ? () => Promise.resolve(undefined)
          : createJobAccess({ endpoints, secrets, issuer: publicUrl }),
      waitMs: indexWaitMs,
    });
    const services: TransactionDeps = { transactions: service };
    return { services, models: { transactions }, reader };
  },
});
