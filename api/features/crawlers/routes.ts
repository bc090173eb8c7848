import { z } from "zod";

import { defineRoute } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { answerText } from "../../http/prepared-text.ts";
import { API_CATALOG_PROFILE, CATALOG_LINKS } from "./api-catalog.ts";
import type { CrawlerDocuments } from "./documents.ts";

/** Dependencies of the routes. */
export interface CrawlersDeps {
  crawlerDocuments: CrawlerDocuments;
}

const shared = {
  method: "GET",
  tag: "Documentation",
  audience: "crawlers",
  auth: "none",
  limitClass: "unlimited",
  budget: "none",
  responses: { 200: z.string(), 304: z.undefined() },
} as const;

/** Of documents that change with the service's version, with every listing, and seldom. */
const CACHE = { version: "public, max-age=3600", listings: "public, max-age=30", sitemap: "public, max-age=30" };
const [ATOM, LINKSET, TEXT, XML] = [
  "application/atom+xml",
  "application/linkset+json",
  "text/plain",
  "application/xml",
] as const;
const withCharset = (type: string) => `${type}; charset=utf-8`;

const robots = defineRoute({
  name: "crawlers.readRobots",
  scope: "none",
  ...shared,
  path: "/robots.txt",
  summary: "What crawlers may read",
  produces: [TEXT],
}).handle(async ({ headers }, { crawlerDocuments }: CrawlersDeps) =>
  answerText(await crawlerDocuments.robots(), headers, { type: withCharset(TEXT), cacheControl: CACHE.version }),
);

const apiCatalog = defineRoute({
  name: "crawlers.readApiCatalog",
  scope: "none",
  ...shared,
  path: "/.well-known/api-catalog",
  summary: "The service's APIs as a set of links (RFC 9727)",
  produces: [LINKSET],
}).handle(async ({ headers }, { crawlerDocuments }: CrawlersDeps) =>
  answerText(await crawlerDocuments.apiCatalog(), headers, {
    type: `${LINKSET}; profile="${API_CATALOG_PROFILE}"`,
    cacheControl: CACHE.version,
    headers: { Link: CATALOG_LINKS },
  }),
);

const feed = defineRoute({
  name: "crawlers.readFeed",
  scope: "none",
  ...shared,
  path: "/feed.atom",
  summary: "New listings as an Atom feed",
  produces: [ATOM],
  errors: ["service_unavailable"],
}).handle(async ({ headers }, { crawlerDocuments }: CrawlersDeps) =>
  answerText(await crawlerDocuments.feed(), headers, { type: withCharset(ATOM), cacheControl: CACHE.listings }),
);

const sitemapIndex = defineRoute({
  name: "crawlers.readSitemap",
  scope: "none",
  ...shared,
  path: "/sitemap.xml",
  summary: "The index of the site map",
  produces: [XML],
  errors: ["service_unavailable"],
}).handle(async ({ headers }, { crawlerDocuments }: CrawlersDeps) =>
  answerText(await crawlerDocuments.sitemapIndex(), headers, { type: withCharset(XML), cacheControl: CACHE.sitemap }),
);

const sitemapPage = defineRoute({
  name: "crawlers.readSitemapPage",
  scope: "none",
  ...shared,
  path: "/sitemap-{name}.xml",
  summary: "A page of the site map",
  produces: [XML],
  params: z.strictObject({ name: z.string().min(1).max(20) }),
  errors: ["not_found", "service_unavailable"],
}).handle(async ({ params: { name }, headers }, { crawlerDocuments }: CrawlersDeps) => {
  const page = await crawlerDocuments.sitemapPage(name);
  if (page === undefined) throw new ApiError("not_found", { details: { page: name } });
  return answerText(page, headers, { type: withCharset(XML), cacheControl: CACHE.sitemap });
});

export const crawlerRoutes = [robots, apiCatalog, feed, sitemapIndex, sitemapPage];
