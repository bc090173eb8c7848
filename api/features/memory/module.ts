import type { Connection } from "mongoose";

import type { Logger } from "../../lib/logger.ts";
import { defineFeature } from "../feature.ts";
import type { Embedder } from "../../search/embedding/embedder.ts";
import type { Encoders } from "../../search/embedding/encoders.ts";
import type { SearchIndexes } from "../../search/index/search-indexes.ts";
import { createAuditMemory } from "./audit/trails.ts";
import { entryFormat, MEMORY_INDEX } from "./index/entry-format.ts";
import { EntryIndex } from "./index/entry-index.ts";
import { createMemorySource } from "./index/source.ts";
import { memoryJobs } from "./jobs.ts";
import type { MemoryQuota } from "./ledger.ts";
import { memoryModels } from "./model.ts";
import { MemoryReader } from "./entries/reader.ts";
import { memoryRoutes } from "./entries/routes.ts";
import type { MemoryDeps } from "./entries/routes.ts";
import { createMemorySearch } from "./entries/search.ts";
import { MemoryService } from "./entries/service.ts";

/** Dependencies of the memory feature. */
export interface MemoryModuleDeps {
  connection: Connection;
  encoders: Encoders;
  embedder: Embedder;
  indexes: SearchIndexes;
  quota: MemoryQuota;
  now: () => Date;
  log: Logger;
}

/** The key-value store of agents. */
export const memoryModule = defineFeature({
  routes: memoryRoutes,
  create({ connection, encoders, embedder, indexes, quota, now, log }: MemoryModuleDeps) {
    const { current: encoder } = encoders;
    const { model } = encoder;
    const models = memoryModels(connection);
    const reader = new MemoryReader({ models, now });
    const index = new EntryIndex({ models, reader: indexes.reader(MEMORY_INDEX, entryFormat), model, log });
    const services: MemoryDeps = {
      memory: new MemoryService({ connection, models, reader, quota, embedder, now }),
      memoryReader: reader,
      memorySearch: createMemorySearch({ encoder, index, reader, now, log }),
    };
    return {
      services,
      models,
      audit: createAuditMemory(models, now),
      loops: [indexes.writer("memory.write-index", createMemorySource({ connection, models, model }))],
      jobs: memoryJobs({ connection, models, encoder, now }),
    };
  },
});
