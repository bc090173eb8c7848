import { escapeXml } from "./xml.ts";

/** The addresses of a site: what the protocol (sitemaps.org) allows is 50,000 of them and 50 MB a page. */
export interface Site {
  /** The service's address, without a trailing slash. */
  publicUrl: string;
  /** Paths of the pages that don't change with the market. */
  paths: readonly string[];
  /** Ids of the active listings. */
  listingIds: readonly string[];
  /** Wallets of their sellers, each once. */
  sellers: readonly string[];
}

/** Addresses on a page. */
const PAGE_SIZE = 10_000;
/** Listings that the site map names, the newest, with their sellers. */
export const MAX_LISTED = 50_000;

/** The lists that take as many pages as they need, with the names of their pages, and the paths on them. */
function listsOf({ listingIds, sellers }: Site): { name: string; path: string; items: readonly string[] }[] {
  return [
    { name: "listings", path: "/listings/", items: listingIds },
    { name: "sellers", path: "/agents/", items: sellers },
  ];
}

const pagesOf = (items: readonly string[]) => Math.ceil(items.length / PAGE_SIZE);

/** The index of the pages: one with fixed addresses, the others with listings and sellers. */
export function describeSitemapIndex(site: Site): string {
  const numbered = listsOf(site).flatMap(({ name, items }) =>
    Array.from({ length: pagesOf(items) }, (_, at) => `${name}-${at + 1}`),
  );
  const urls = ["site", ...numbered].map((name) => `${site.publicUrl}/sitemap-${name}.xml`);
  return listOf("sitemapindex", "sitemap", urls);
}

/** A page of the index; undefined for a name that it doesn't have. */
export function describeSitemapPage(site: Site, name: string): string | undefined {
  const { publicUrl, paths } = site;
  const listUrls = (found: readonly string[]) =>
    listOf(
      "urlset",
      "url",
      found.map((path) => publicUrl + path),
    );
  if (name === "site") return listUrls(paths);
  const [, listName, digits] = /^([a-z]+)-([1-9]\d?)$/.exec(name) ?? [];
  const list = listsOf(site).find((one) => one.name === listName);
  const page = Number(digits ?? 0);
  if (list === undefined || page > pagesOf(list.items)) return undefined;
  return listUrls(list.items.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE).map((item) => list.path + item));
}

function listOf(list: string, item: string, urls: readonly string[]): string {
  const items = urls.map((url) => `<${item}><loc>${escapeXml(url)}</loc></${item}>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<${list} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${items.join("")}</${list}>
`;
}
