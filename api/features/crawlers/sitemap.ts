import { escapeXml } from "./xml.ts";

/** The addresses of a site: what the protocol (sitemaps.org) allows is 50,000 of them and 50 MB a page. */
export interface Site {
  /** The service's address, without a trailing slash. */
  publicUrl: string;
  /** Paths of the pages that don't change with the market. */
  paths: readonly string[];
  /** Ids of the active listings. */
  listingIds: readonly string[];
}

/** Addresses on a page. */
const PAGE_SIZE = 10_000;
/** Listings that the site map names, the newest. */
export const MAX_LISTED = 50_000;

/** How many pages the listings take. */
function listingPages({ listingIds }: Site): number {
  return Math.ceil(listingIds.length / PAGE_SIZE);
}

/** The index of the pages: one with fixed addresses, the others with listings. */
export function describeSitemapIndex(site: Site): string {
  const names = ["site", ...Array.from({ length: listingPages(site) }, (_, at) => `listings-${at + 1}`)];
  const urls = names.map((name) => `${site.publicUrl}/sitemap-${name}.xml`);
  return listOf("sitemapindex", "sitemap", urls);
}

/** A page of the index; undefined for a name that it doesn't have. */
export function describeSitemapPage(site: Site, name: string): string | undefined {
  const { publicUrl, paths, listingIds } = site;
  if (name === "site")
    return listOf(
      "urlset",
      "url",
      paths.map((path) => publicUrl + path),
    );
  const [, digits] = /^listings-([1-9]\d?)$/.exec(name) ?? [];
  const page = Number(digits ?? 0);
  if (page === 0 || page > listingPages(site)) return undefined;
  const ids = listingIds.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  return listOf(
    "urlset",
    "url",
    ids.map((id) => `${publicUrl}/listings/${id}`),
  );
}

function listOf(list: string, item: string, urls: readonly string[]): string {
  const items = urls.map((url) => `<${item}><loc>${escapeXml(url)}</loc></${item}>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<${list} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${items.join("")}</${list}>
`;
}
