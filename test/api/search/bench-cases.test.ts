import { assert } from "chai";

import { createListingBody, QUERY_MAX_LENGTH } from "../../../api/features/listings/schemas.ts";
import { CHILD_SLUGS } from "../../../api/features/categories/taxonomy.ts";
import { createThreadEncoder } from "../../../api/features/search/encoder.ts";
import { textSchema } from "../../../api/http/text-schema.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { HALVES, loadListings, loadQueries, QUERY_KINDS } from "../../bench/discovery/corpus.ts";
import { overlapOf } from "../../bench/discovery/overlap.ts";
import { createRankers } from "../../bench/discovery/rankers.ts";
import { reportOf } from "../../bench/discovery/report.ts";

const LEAST_LISTINGS = 500;
const LEAST_QUERIES = 200;
const LEAST_OF_KIND = { "hard-negative": 40, vague: 40, stuffed: 15, squatting: 12, "near-duplicate": 15 } as const;
const LEAST_QUERIES_OF_KIND = 8;
/** Listings and queries of each category. */
const LEAST_IN_CATEGORY = { listings: 12, queries: 5 };
const LONG = 250;
/** Share of a query's words that a listing of grade 3 has too: at most, and on average. */
const MOST_OVERLAP = 0.25;
const MEAN_OVERLAP = 0.05;
/** The aim of the bench: nDCG@10 of discovery as a multiple of that of words alone. */
const AIM = 1.5;

const listings = loadListings();
const queries = loadQueries();
const bySlug = new Map(listings.map((listing) => [listing.slug, listing]));

describe("the bench of searches", () => {
  it("has at least 500 listings and 200 queries over all categories", () => {
    assert.isAtLeast(listings.length, LEAST_LISTINGS);
    assert.isAtLeast(queries.length, LEAST_QUERIES);
    assert.sameMembers([...new Set(listings.map(({ category }) => category))], [...CHILD_SLUGS]);
    for (const slug of CHILD_SLUGS) {
      const inCategory = (rows: readonly { category: string }[]) => rows.filter(({ category }) => category === slug);
      assert.isAtLeast(inCategory(listings).length, LEAST_IN_CATEGORY.listings, slug);
      assert.isAtLeast(inCategory(queries).length, LEAST_IN_CATEGORY.queries, slug);
    }
  });

  it("has listings that sellers could create, each with a text of its own", () => {
    for (const { slug, title, description, category, price, priceUnit, currency } of listings) {
      const body = { title, description, category, price, priceUnit, ...(currency && { currency }) };
      const { error } = createListingBody.safeParse(body);
      assert.strictEqual(error, undefined, `${slug}: ${String(error)}`);
    }
    assert.strictEqual(bySlug.size, listings.length, "slugs are unique");
    assert.strictEqual(new Set(listings.map(({ description }) => description)).size, listings.length);
  });

  it("has listings of every kind that should not win", () => {
    for (const [kind, least] of Object.entries(LEAST_OF_KIND)) {
      assert.isAtLeast(listings.filter((listing) => listing.kind === kind).length, least, kind);
    }
    for (const { slug, seller, kind, duplicateOf } of listings) {
      assert.strictEqual(duplicateOf !== undefined, kind === "near-duplicate", slug);
      if (duplicateOf === undefined) continue;
      const original = bySlug.get(duplicateOf);
      assert.deepEqual([original?.seller, original?.kind], [seller, "genuine"], slug);
    }
  });

  it("has queries that discovery accepts, and grades of listings that exist", () => {
    const text = textSchema({ max: QUERY_MAX_LENGTH, multiline: true });
    for (const { query, kind, grades } of queries) {
      assert.ok(text.safeParse(query).success, query);
      if (kind === "long") assert.isAtLeast(query.length, LONG, query);
      assert.include(Object.values(grades), 3, query);
      for (const slug of Object.keys(grades)) {
        const graded = bySlug.get(slug);
        assert.ok(graded !== undefined, `${query}: ${slug}`);
        assert.notInclude(["vague", "stuffed", "near-duplicate"], graded.kind, `${query}: ${slug}`);
      }
    }
  });

  it("splits the queries into disjoint halves with as many of each kind and category", () => {
    assert.strictEqual(new Set(queries.map(({ query }) => query.toLowerCase())).size, queries.length);
    const countsOf = (some: typeof queries) => HALVES.map((half) => some.filter((one) => one.half === half).length);
    const [tuning = 0, heldOut = 0] = countsOf(queries);
    assert.strictEqual(tuning, heldOut);
    for (const kind of QUERY_KINDS) {
      const ofKind = queries.filter((query) => query.kind === kind);
      assert.isAtLeast(ofKind.length, LEAST_QUERIES_OF_KIND, kind);
      const [left, right] = countsOf(ofKind);
      assert.strictEqual(left, right, kind);
    }
    for (const category of CHILD_SLUGS) {
      const [left = 0, right = 0] = countsOf(queries.filter((query) => query.category === category));
      assert.isAtMost(Math.abs(left - right), 1, category);
    }
  });

  it("asks in words that the listings of grade 3 don't share", () => {
    const overlaps = queries.flatMap(({ query, grades }) =>
      Object.entries(grades)
        .filter(([, grade]) => grade === 3)
        .map(([slug]) => {
          const best = bySlug.get(slug);
          assert.ok(best !== undefined, slug);
          return { query, slug, overlap: overlapOf(query, best) };
        }),
    );
    const mean = overlaps.reduce((sum, { overlap }) => sum + overlap, 0) / overlaps.length;
    const most = overlaps.reduce((left, right) => (right.overlap > left.overlap ? right : left));
    const without = overlaps.filter(({ overlap }) => overlap === 0).length;
    console.log(
      `${overlaps.length} pairs of a query and a listing of grade 3 share ${(100 * mean).toFixed(1)}% of the query's words; ` +
        `${without} pairs share none; most ${(100 * most.overlap).toFixed(0)}%: "${most.query}" and ${most.slug}`,
    );
    assert.isAtMost(mean, MEAN_OVERLAP);
    assert.isAtMost(most.overlap, MOST_OVERLAP, `${most.query}: ${most.slug}`);
  });

  it("[S1.01] finds discovery at least 1.5 times as good as words alone, and better than a plain hybrid", async () => {
    const encoder = createThreadEncoder(createLogger({ level: "silent", name: "test" }));
    try {
      const rankers = await createRankers(listings, encoder);
      const heldOut = queries.filter(({ half }) => half === "held-out");
      const { ndcg10: ours } = await reportOf(rankers.ours, heldOut, listings);
      const { ndcg10: words } = await reportOf(rankers.words, heldOut, listings);
      const { ndcg10: hybrid } = await reportOf(rankers.hybrid, heldOut, listings);
      console.log(`nDCG@10: ours ${ours.toFixed(3)}, words ${words.toFixed(3)}, plain hybrid ${hybrid.toFixed(3)}`);
      assert.isAbove(words, 0);
      assert.isAtLeast(ours, AIM * words);
      assert.isAbove(ours, hybrid);
    } finally {
      await encoder.close();
    }
  });
});
