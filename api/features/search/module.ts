import type { Connection } from "mongoose";

import type { EtherPrice } from "../../chain/ether-price.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Standings } from "../agents/standings.ts";
import { defineFeature } from "../feature.ts";
import { listingModel } from "../listings/model.ts";
import { createThreadEncoder } from "./embedding/encoder.ts";
import { createIndexFeed } from "./index-feed.ts";
import { searchJobs } from "./jobs.ts";
import { createListingIndex } from "./listing-index.ts";
import { discoverRoutes } from "./routes.ts";
import type { DiscoverDeps } from "./routes.ts";
import { createDiscoverService, createListingEmbedder } from "./service.ts";

/** Dependencies of the search feature. */
export interface SearchModuleDeps {
  connection: Connection;
  standings: Standings;
  etherPrice: EtherPrice;
  log: Logger;
}

/** Semantic discovery of listings. */
export const searchModule = defineFeature({
  routes: discoverRoutes,
  create({ connection, standings, etherPrice, log }: SearchModuleDeps) {
    const listings = listingModel(connection);
    const encoder = createThreadEncoder(log);
    const index = createListingIndex();
    const feed = createIndexFeed({ listings, index, model: encoder.model, log });
    const discovery = createDiscoverService({ encoder, index, standings, etherPrice, log });
    const services: DiscoverDeps = { discovery };
    return {
      services,
      jobs: searchJobs({ listings, encoder }),
      discovery,
      encoder,
      embedder: createListingEmbedder(encoder, log),
      /** For the readiness report. */
      state: { listings: () => index.count(), isFollowing: () => feed.isFollowing() },
      start: () => feed.start(),
      async close() {
        await feed.close();
        await encoder.close();
      },
    };
  },
});
