import type { Connection } from "mongoose";

import type { Logger } from "../../lib/logger.ts";
import { defineFeature } from "../feature.ts";
import type { Embedder } from "../search/embedding/embedder.ts";
import type { SentenceEncoder } from "../search/embedding/encoder.ts";
import { createAgentIndexes } from "./agent-indexes.ts";
import { createAuditMemory } from "./audit.ts";
import { memoryJobs } from "./jobs.ts";
import type { MemoryQuota } from "./ledger.ts";
import { memoryModels } from "./model.ts";
import { createReader } from "./reader.ts";
import { memoryRoutes } from "./routes.ts";
import type { MemoryDeps } from "./routes.ts";
import { createMemorySearch } from "./search.ts";
import { createMemoryService } from "./service.ts";

/** Dependencies of the memory feature. */
export interface MemoryModuleDeps {
  connection: Connection;
  encoder: SentenceEncoder;
  embedder: Embedder;
  quota: MemoryQuota;
  now: () => Date;
  log: Logger;
}

/** The key-value store of agents (specification 2.7). */
export const memoryModule = defineFeature({
  routes: memoryRoutes,
  create({ connection, encoder, embedder, quota, now, log }: MemoryModuleDeps) {
    const models = memoryModels(connection);
    const reader = createReader(models, now);
    const indexes = createAgentIndexes({ models, model: encoder.model, now });
    const services: MemoryDeps = {
      memory: createMemoryService({ connection, models, quota, embedder, now }),
      memoryReader: reader,
      memorySearch: createMemorySearch({ encoder, indexes, reader, now, log }),
    };
    return {
      services,
      models,
      audit: createAuditMemory(models, now),
      jobs: memoryJobs({ connection, models, encoder, now }),
    };
  },
});
