import type { Connection } from "mongoose";

import type { EtherPrice } from "../../chain/ether-price.ts";
import type { EmbeddingProvider } from "../../config/embeddings.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { Standings } from "../agents/standings.ts";
import { defineFeature } from "../feature.ts";
import { listingModel } from "../listings/model.ts";
import { createEmbedder } from "./embedding/embedder.ts";
import { createEncoders } from "./embedding/encoders.ts";
import { addEmbeddingGauges } from "./embedding/gauges.ts";
import { createIndexFeed } from "./index-feed.ts";
import { searchJobs } from "./jobs.ts";
import { createListingIndex } from "./listing-index.ts";
import { discoverRoutes } from "./routes.ts";
import type { DiscoverDeps } from "./routes.ts";
import { createDiscoverService } from "./service.ts";

/** Dependencies of the search feature. */
export interface SearchModuleDeps {
  connection: Connection;
  standings: Standings;
  etherPrice: EtherPrice;
  /** The server that embeds texts; undefined for the embedded encoder. */
  provider: EmbeddingProvider | undefined;
  metrics: Pick<Metrics, "addGauge">;
  now: () => Date;
  log: Logger;
}

/** Semantic discovery of listings. */
export const searchModule = defineFeature({
  routes: discoverRoutes,
  create({ connection, standings, etherPrice, provider, metrics, now, log }: SearchModuleDeps) {
    const listings = listingModel(connection);
    const encoders = createEncoders({ connection, provider, now, log });
    const { current: encoder } = encoders;
    addEmbeddingGauges(metrics, encoders);
    const index = createListingIndex();
    const feed = createIndexFeed({ listings, index, model: encoder.model, log });
    const discovery = createDiscoverService({ encoder, index, standings, etherPrice, log });
    const services: DiscoverDeps = { discovery };
    return {
      services,
      jobs: searchJobs({ listings, encoder }),
      discovery,
      encoders,
      embedder: createEmbedder(encoder, log),
      /** For the readiness report. */
      state: { listings: () => index.count(), isFollowing: () => feed.isFollowing() },
      start: () => feed.start(),
      async close() {
        await feed.close();
        await encoders.close();
      },
    };
  },
});
