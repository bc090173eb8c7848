import { assert } from "chai";

import { describeSitemapIndex, describeSitemapPage, MAX_LISTED } from "../../../api/features/crawlers/sitemap.ts";

const [MAX_ADDRESSES, MAX_BYTES] = [50_000, 52_428_800];
const siteOf = (listings: number) => ({
  publicUrl: "https://market.test",
  paths: ["/"],
  listingIds: Array.from({ length: listings }, (_, at) => `lst_${at}`),
  sellers: Array.from({ length: listings }, (_, at) => `0x${at}`),
});
const countOf = (text: string) => text.split("<loc>").length - 1;

describe("the pages of a site map", () => {
  for (const [listings, pages] of [
    [0, 0],
    [1, 1],
    [10_000, 1],
    [10_001, 2],
    [MAX_LISTED, 5],
  ] as const) {
    it(`are ${pages} each for ${listings} listings and as many sellers, and have all of them once`, () => {
      const site = siteOf(listings);
      assert.strictEqual(countOf(describeSitemapIndex(site)), 1 + 2 * pages);
      for (const [name, path, items] of [
        ["listings", "/listings/", site.listingIds],
        ["sellers", "/agents/", site.sellers],
      ] as const) {
        const texts = Array.from({ length: pages }, (_, at) => describeSitemapPage(site, `${name}-${at + 1}`) ?? "");
        assert.strictEqual(describeSitemapPage(site, `${name}-${pages + 1}`), undefined);
        const found = texts.flatMap((text) =>
          [...text.matchAll(/<loc>https:\/\/market\.test(.+?)</g)].map(([, url]) => url),
        );
        assert.deepEqual(
          found,
          items.map((item) => path + item),
        );
        for (const text of texts) {
          assert.isAtMost(countOf(text), MAX_ADDRESSES);
          assert.isBelow(Buffer.byteLength(text), MAX_BYTES);
        }
      }
    });
  }
});
