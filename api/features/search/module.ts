import type { Connection } from "mongoose";

import type { Logger } from "../../lib/logger.ts";
import type { Standings } from "../agents/standings.ts";
import { defineFeature } from "../feature.ts";
import { listingModel } from "../listings/model.ts";
import { createThreadEncoder } from "./encoder.ts";
import { createIndexFeed } from "./index-feed.ts";
import { searchJobs } from "./jobs.ts";
import { discoverRoutes } from "./routes.ts";
import type { DiscoverDeps } from "./routes.ts";
import { createSearchIndex } from "./search-index.ts";
import { createDiscoverService, createListingEmbedder } from "./service.ts";

/** What search needs. */
export interface SearchModuleDeps {
  connection: Connection;
  standings: Standings;
  log: Logger;
}

/** Discovery by meaning over the listings. */
export const searchModule = defineFeature({
  routes: discoverRoutes,
  create({ connection, standings, log }: SearchModuleDeps) {
    const listings = listingModel(connection);
    const encoder = createThreadEncoder(log);
    const index = createSearchIndex();
    const feed = createIndexFeed({ listings, index, model: encoder.model, log });
    const discovery = createDiscoverService({ encoder, index, standings, log });
    const services: DiscoverDeps = { discovery };
    return {
      services,
      jobs: searchJobs({ listings, encoder }),
      discovery,
      embedder: createListingEmbedder(encoder, log),
      /** For the readiness report. */
      state: { listings: () => index.size, isFollowing: () => feed.isFollowing() },
      start: () => feed.start(),
      async close() {
        await feed.close();
        await encoder.close();
      },
    };
  },
});
