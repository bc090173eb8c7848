import { prepareText } from "../../http/prepared-text.ts";
import type { PreparedText } from "../../http/prepared-text.ts";
import type { PublishedListings } from "../listings/published.ts";
import { describeApis } from "./api-catalog.ts";
import { describeFeed, FEED_ENTRIES } from "./feed.ts";
import { Kept } from "../../lib/kept.ts";
import { describeRobots } from "./robots.ts";
import { describeSitemapIndex, describeSitemapPage, MAX_LISTED } from "./sitemap.ts";
import type { Site } from "./sitemap.ts";

/** How long documents are kept in the process. Tests shorten it. */
export interface CrawlerTimings {
  feedMaxAgeMs: number;
  sitemapMaxAgeMs: number;
}

export const CRAWLER_TIMINGS: CrawlerTimings = { feedMaxAgeMs: 30_000, sitemapMaxAgeMs: 30_000 };

/** Dependencies of the documents. */
export interface DocumentsDeps {
  publicUrl: string;
  published: PublishedListings;
  /** The last segments of the guides' paths. */
  guideNames: () => readonly string[];
  timings: CrawlerTimings;
}

/** What crawlers read. */
export interface CrawlerDocuments {
  robots: () => Promise<PreparedText>;
  apiCatalog: () => Promise<PreparedText>;
  feed: () => Promise<PreparedText>;
  sitemapIndex: () => Promise<PreparedText>;
  /** Undefined for a page that the index doesn't name. */
  sitemapPage: (name: string) => Promise<PreparedText | undefined>;
}

/** Pages with addresses of their own. Those of listings and sellers follow them. */
const PATHS = ["/", "/disputes", "/status", "/docs", "/guides"];

/** Makes the documents. However many clients ask, a document is read again only once it is too old, so no limit counts these calls. */
export function createCrawlerDocuments({ publicUrl, published, guideNames, timings }: DocumentsDeps): CrawlerDocuments {
  const robots = new Kept(() => prepareText(describeRobots(publicUrl)), Infinity);
  const apiCatalog = new Kept(() => prepareText(JSON.stringify(describeApis(publicUrl))), Infinity);
  const feed = new Kept(async () => {
    const text = describeFeed(publicUrl, await published.newest(FEED_ENTRIES));
    return prepareText(text, { isQuick: true });
  }, timings.feedMaxAgeMs);
  const sitemap = new Kept(async () => {
    const paths = [...PATHS, ...guideNames().map((name) => `/guides/${name}`)];
    const listed = await published.newestIds(MAX_LISTED);
    return createSitemap({
      publicUrl,
      paths,
      listingIds: listed.map(({ id }) => id),
      sellers: [...new Set(listed.map(({ wallet }) => wallet))],
    });
  }, timings.sitemapMaxAgeMs);
  return {
    robots: () => robots.get(),
    apiCatalog: () => apiCatalog.get(),
    feed: () => feed.get(),
    sitemapIndex: async () => (await sitemap.get()).index(),
    sitemapPage: async (name) => (await sitemap.get()).page(name),
  };
}

/** Index and pages of one reading, each made when it is first asked for. */
function createSitemap(site: Site) {
  const pages = new Map<string, Promise<PreparedText>>();
  const keep = (name: string, text: string | undefined) => {
    if (text === undefined) return undefined;
    const prepared = prepareText(text, { isQuick: true });
    pages.set(name, prepared);
    return prepared;
  };
  const index = new Kept(() => prepareText(describeSitemapIndex(site), { isQuick: true }), Infinity);
  return {
    index: () => index.get(),
    page: (name: string) => pages.get(name) ?? keep(name, describeSitemapPage(site, name)),
  };
}
