import type { Connection } from "mongoose";

import type { EtherPrice } from "../../chain/ether-price.ts";
import type { EmbeddingProvider } from "../../config/embeddings.ts";
import type { ObjectStoreSettings } from "../../config/search-index.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { AgentDirectory } from "../agents/directory.ts";
import type { Standings } from "../agents/standings.ts";
import { defineFeature } from "../feature.ts";
import { listingModel } from "../listings/model.ts";
import { createCategoryFit } from "./category-fit.ts";
import { createDatabaseSearch } from "./database-search.ts";
import { createEmbedder } from "../../search/embedding/embedder.ts";
import type { SentenceEncoder } from "../../search/embedding/encoder.ts";
import { createEncoders } from "../../search/embedding/encoders.ts";
import { addEmbeddingGauges } from "../../search/embedding/gauges.ts";
import { openSearchIndexes } from "../../search/index/search-indexes.ts";
import { searchJobs } from "./jobs.ts";
import { LISTING_INDEX, listingFormat } from "./listing-format.ts";
import { discoverRoutes } from "./routes.ts";
import type { DiscoverDeps } from "./routes.ts";
import { createDiscoverService } from "./service.ts";
import { createListingSource } from "./listing-source.ts";
import { createStoredListings } from "./stored-listings.ts";
import { readVisibility } from "./visibility.ts";

/** Dependencies of the discovery feature. */
export interface DiscoveryModuleDeps {
  connection: Connection;
  standings: Standings;
  directory: Pick<AgentDirectory, "agentIdsByWallet">;
  etherPrice: EtherPrice;
  /** The server that embeds texts; undefined for the embedded encoder. */
  provider: EmbeddingProvider | undefined;
  embedded: SentenceEncoder;
  metrics: Pick<Metrics, "addGauge">;
  now: () => Date;
  log: Logger;
  /** Names this process in the writer's lease. */
  processId: string;
  /** Where the index is: a folder, or a prefix of an object store. */
  indexUrl: string;
  /** Undefined unless the address is one of S3. */
  indexStore: ObjectStoreSettings | undefined;
}

/** Semantic discovery of listings. */
export const discoveryModule = defineFeature({
  routes: discoverRoutes,
  create(deps: DiscoveryModuleDeps) {
    const { connection, standings, directory, etherPrice, metrics, now, log } = deps;
    const { provider, embedded, processId, indexUrl, indexStore } = deps;
    const listings = listingModel(connection);
    const encoders = createEncoders({ connection, provider, embedded, now, log });
    const { current: encoder } = encoders;
    addEmbeddingGauges(metrics, encoders);
    const indexes = openSearchIndexes({ connection, indexUrl, indexStore, encoder, processId, now, log });
    const index = indexes.reader(LISTING_INDEX, listingFormat);
    const { model } = encoder;
    const loadCategoryFit = createCategoryFit(encoder, log);
    const source = createListingSource({ listings, standings, directory, loadCategoryFit, model });
    const writer = indexes.writer("search.write-index", source);
    const stored = createStoredListings(listings, model);
    const database = createDatabaseSearch({ listings, model });
    const discovery = createDiscoverService({
      encoder,
      loadCategoryFit,
      index,
      database,
      stored,
      standings,
      etherPrice,
      log,
    });
    const services: DiscoverDeps = {
      discovery,
      readVisibility: (asked) => readVisibility(asked, { discovery, stored, standings, now }),
    };
    return {
      services,
      jobs: searchJobs({ listings, encoder }),
      loops: [writer],
      discovery,
      indexes,
      encoders,
      embedder: createEmbedder(encoder, log),
      /** For the readiness report. */
      state: { listings: () => index.count(), lagMs: () => index.lagMs() },
      close: () => encoders.close(),
    };
  },
});
