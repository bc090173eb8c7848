import type { Connection } from "mongoose";

import type { Clock } from "../../lib/clock.ts";
import { createTradeGate } from "../agents/trade-gate.ts";
import { defineFeature } from "../feature.ts";
import { createIntents } from "../intents/intents.ts";
import { createEndpointDirectory } from "./endpoints.ts";
import { listListings } from "./list.ts";
import type { ListDeps } from "./list.ts";
import { listingModel } from "./model.ts";
import { createPublishedListings } from "./published.ts";
import { serviceRoutes } from "./routes.ts";
import type { ServicesDeps } from "./routes.ts";
import { ListingService } from "./service.ts";
import type { ListingEmbedder } from "./service.ts";
import { createListingWarnings } from "./warnings.ts";
import type { ListingWarningsDeps } from "./warnings.ts";

/** Dependencies of the listings feature. */
export interface ListingsModuleDeps extends Pick<ListDeps, "search" | "standings" | "etherPrice"> {
  chains: ListingWarningsDeps["chains"];
  connection: Connection;
  embedder: ListingEmbedder;
  clock: Clock;
}

/** The services that sellers offer. */
export const listingsModule = defineFeature({
  routes: serviceRoutes,
  create({ connection, chains, embedder, search, standings, etherPrice, clock }: ListingsModuleDeps) {
    const listings = listingModel(connection);
    const service = new ListingService({
      connection,
      intents: createIntents(connection),
      listings,
      embedder,
      clock,
      gate: createTradeGate(connection),
    });
    const services: ServicesDeps = {
      services: service,
      warningsOf: createListingWarnings({ chains, standings, etherPrice }),
      listServices: (caller, query) => listListings(caller, query, { listings, search, standings, etherPrice }),
    };
    return {
      services,
      models: { listings },
      listings: service,
      endpoints: createEndpointDirectory(listings),
      published: createPublishedListings(listings),
    };
  },
});
