import { defineFeature } from "../feature.ts";
import { CRAWLER_TIMINGS, createCrawlerDocuments } from "./documents.ts";
import type { DocumentsDeps } from "./documents.ts";
import { crawlerRoutes } from "./routes.ts";
import type { CrawlersDeps } from "./routes.ts";

/** What crawlers, feed readers and directories look for at addresses that every site has. */
export const crawlersModule = defineFeature({
  routes: crawlerRoutes,
  timings: CRAWLER_TIMINGS,
  create(deps: DocumentsDeps) {
    const services: CrawlersDeps = { crawlerDocuments: createCrawlerDocuments(deps) };
    return { services };
  },
});
