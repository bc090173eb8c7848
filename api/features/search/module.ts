import type { Connection } from "mongoose";

import type { EtherPrice } from "../../chain/ether-price.ts";
import type { EmbeddingProvider } from "../../config/embeddings.ts";
import { createLease, leaseModel } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { Standings } from "../agents/standings.ts";
import { defineFeature } from "../feature.ts";
import { listingModel } from "../listings/model.ts";
import { createEmbedder } from "./embedding/embedder.ts";
import { createEncoders } from "./embedding/encoders.ts";
import { addEmbeddingGauges } from "./embedding/gauges.ts";
import { openLanceTables } from "./engine/lance-tables.ts";
import { createIndexReader } from "./index-reader.ts";
import { indexStateModel } from "./index-state.ts";
import { createIndexWriter } from "./index-writer.ts";
import { searchJobs } from "./jobs.ts";
import { LISTING_INDEX, listingFormat } from "./listing-format.ts";
import { discoverRoutes } from "./routes.ts";
import type { DiscoverDeps } from "./routes.ts";
import { createDiscoverService } from "./service.ts";
import { createStoredListings } from "./stored-listings.ts";

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
  /** Names this process in the writer's lease. */
  processId: string;
  /** Where the index is: a folder, or a prefix of an object store. */
  indexUrl: string;
}

/** Longer than any pause of a working process, and shorter than a listing may take to be found. */
const LEASE_MS = 10_000;

/** Semantic discovery of listings. */
export const searchModule = defineFeature({
  routes: discoverRoutes,
  create(deps: SearchModuleDeps) {
    const { connection, standings, etherPrice, provider, metrics, now, log, processId, indexUrl } = deps;
    const listings = listingModel(connection);
    const encoders = createEncoders({ connection, provider, now, log });
    const { current: encoder } = encoders;
    addEmbeddingGauges(metrics, encoders);
    const states = indexStateModel(connection);
    // The tables of another database aren't this one's to drop.
    const tables = openLanceTables(`${indexUrl}/${connection.name}`);
    const index = createIndexReader({ name: LISTING_INDEX, states, tables, format: listingFormat, now });
    const lease = createLease(leaseModel(connection), "search-index", processId, LEASE_MS);
    const writer = createIndexWriter({ listings, states, tables, lease, encoder, now, log });
    const stored = createStoredListings(listings);
    const discovery = createDiscoverService({ encoders, index, stored, standings, etherPrice, log });
    const services: DiscoverDeps = { discovery };
    return {
      services,
      jobs: searchJobs({ listings, encoder }),
      loops: [writer],
      discovery,
      encoders,
      embedder: createEmbedder(encoder, log),
      /** For the readiness report. */
      state: { listings: () => index.count(), lagMs: () => index.lagMs() },
      close: () => encoders.close(),
    };
  },
});
