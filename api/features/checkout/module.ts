import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import type { KyaLevel, Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { createTradeGate } from "../agents/trade-gate.ts";
import { defineFeature } from "../feature.ts";
import type { Approvals } from "../approvals/approvals.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import { createIntents } from "../intents/intents.ts";
import type { Listing } from "../listings/listing.ts";
import { createMandateLedger } from "../mandates/ledger.ts";
import { transactionModel } from "../transactions/model.ts";
import { createPurchases } from "./purchases.ts";
import { checkoutRoutes } from "./routes.ts";
import type { CheckoutDeps } from "./routes.ts";
import { createCheckoutService } from "./service.ts";

/** Dependencies of the checkout feature. */
export interface CheckoutModuleDeps {
  connection: Connection;
  chains: Readonly<Record<Network, ChainClient>>;
  indexers: Readonly<Record<Network, Indexer>>;
  clock: Clock;
  /** How long a repeat waits for the subgraph to reach the chain's head, in milliseconds. */
  timings: { readWaitMs: number };
  /** @throws ApiError `not_found` */
  findListing: (serviceId: string) => Promise<Listing>;
  kyaLevelOf: (agentId: string) => Promise<KyaLevel>;
  evaluator: CriteriaEvaluator;
  approvals: Pick<Approvals, "ask">;
}

/** Turns a listing into a transaction with the terms of its escrow. */
export const checkoutModule = defineFeature({
  routes: checkoutRoutes,
  create({ connection, chains, indexers, clock, timings, ...ports }: CheckoutModuleDeps) {
    const transactions = transactionModel(connection);
    const purchases = createPurchases({
      connection,
      intents: createIntents(connection),
      transactions,
      chains,
      indexers,
      waitMs: timings.readWaitMs,
    });
    const services: CheckoutDeps = {
      checkout: createCheckoutService({
        ...ports,
        connection,
        purchases,
        transactions,
        chains,
        clock,
        gate: createTradeGate(connection),
        ledger: createMandateLedger(connection),
      }),
    };
    return { services };
  },
});
