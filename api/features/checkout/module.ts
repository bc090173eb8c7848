import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import type { KyaLevel, Network } from "../../config/constants.ts";
import type { Clock } from "../../lib/clock.ts";
import { defineFeature } from "../feature.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import type { Listing } from "../listings/listing.ts";
import { transactionModel } from "../transactions/model.ts";
import { checkoutRoutes } from "./routes.ts";
import type { CheckoutDeps } from "./routes.ts";
import { createCheckoutService } from "./service.ts";

/** Dependencies of the checkout feature. */
export interface CheckoutModuleDeps {
  connection: Connection;
  chains: Readonly<Record<Network, ChainClient>>;
  clock: Clock;
  /** @throws ApiError `not_found` */
  findListing: (serviceId: string) => Promise<Listing>;
  kyaLevelOf: (agentId: string) => Promise<KyaLevel>;
  evaluator: CriteriaEvaluator;
}

/** Turns a listing into a transaction with the terms of its escrow. */
export const checkoutModule = defineFeature({
  routes: checkoutRoutes,
  create({ connection, chains, clock, findListing, kyaLevelOf, evaluator }: CheckoutModuleDeps) {
    const transactions = transactionModel(connection);
    const services: CheckoutDeps = {
      checkout: createCheckoutService({ findListing, kyaLevelOf, evaluator, transactions, chains, clock }),
    };
    return { services };
  },
});
