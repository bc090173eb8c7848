import { assert } from "chai";

import type { BenchListing, BenchQuery } from "../../bench/discovery/corpus.ts";
import { gradeOf, ndcg, recall, reciprocalRank, withoutRepeats } from "../../bench/discovery/measures.ts";
import { overlapOf } from "../../bench/discovery/overlap.ts";
import { reportOf } from "../../bench/discovery/report.ts";

const GRADES = { best: 3, good: 2, related: 1 };
const NEAR = 1e-6;

const listingOf = (slug: string, fields: Partial<BenchListing> = {}): BenchListing => ({
  slug,
  seller: "seller",
  kind: "genuine",
  title: "Title",
  description: "Text",
  category: "other",
  price: 1,
  priceUnit: "flat",
  ...fields,
});
const queryOf = (query: string, fields: Partial<BenchQuery> = {}): BenchQuery => ({
  query,
  kind: "paraphrase",
  half: "held-out",
  grades: GRADES,
  firstGrades: GRADES,
  zeros: new Set(),
  category: "other",
  ...fields,
});

describe("measures of the bench of searches", () => {
  it("nDCG divides the gains of the places found by those of the best order", () => {
    // (7 + 3 / log2 4) / (7 + 3 / log2 3 + 1 / log2 4)
    assert.closeTo(ndcg(["best", "other", "good"], GRADES, 10), 8.5 / 9.392789, NEAR);
    assert.closeTo(ndcg(["related", "good", "best"], GRADES, 10), (1 + 1.892789 + 3.5) / 9.392789, NEAR);
    assert.closeTo(ndcg(["best", "good", "related", "other"], GRADES, 10), 1, NEAR);
    assert.strictEqual(ndcg([], GRADES, 10), 0);
    assert.strictEqual(ndcg(["other", "another"], GRADES, 10), 0);
  });

  it("nDCG looks at no place beyond its depth, in the best order neither", () => {
    assert.strictEqual(ndcg(["best", "good"], GRADES, 1), 1);
    assert.closeTo(ndcg(["good", "best"], GRADES, 1), 3 / 7, NEAR);
    assert.strictEqual(ndcg(["other", "best"], GRADES, 1), 0);
  });

  it("the reciprocal rank is that of the first listing of grade 2 or 3", () => {
    assert.strictEqual(reciprocalRank(["best"], GRADES), 1);
    assert.strictEqual(reciprocalRank(["related", null, "other", "good", "best"], GRADES), 1 / 4);
    assert.strictEqual(reciprocalRank(["related", "other"], GRADES), 0);
  });

  it("recall counts the listings of grade 2 and 3 up to its depth", () => {
    assert.strictEqual(recall(["good", "other", "best"], GRADES, 20), 1);
    assert.strictEqual(recall(["good", "other", "best"], GRADES, 2), 1 / 2);
    assert.strictEqual(recall(["related"], GRADES, 20), 0);
  });

  it("near-duplicates count once, as the listing that they repeat", () => {
    const originalOf = (slug: string) => (slug.startsWith("best") ? "best" : slug);
    const ranking = withoutRepeats(["best-2", "other", "best", "best-3"], originalOf);
    assert.deepEqual(ranking, ["best", "other", null, null]);
    assert.deepEqual(
      ranking.map((slug) => gradeOf(slug, GRADES)),
      [3, 0, 0, 0],
    );
  });

  it("a report has means by kind of query, and the listings that don't serve among the first three by their kind", async () => {
    const listings = [
      ...[listingOf("best"), listingOf("good"), listingOf("copy", { kind: "near-duplicate", duplicateOf: "best" })],
      ...[listingOf("vague", { kind: "vague" }), listingOf("stuffed", { kind: "stuffed" })],
      listingOf("squatting", { kind: "squatting" }),
    ];
    const answers: Record<string, string[]> = {
      a: ["best", "good", "squatting", "stuffed"],
      b: ["vague", "copy", "best"],
      c: ["squatting", "vague", "stuffed"],
    };
    const queries = [
      queryOf("a", { grades: { best: 3, good: 3 } }),
      queryOf("b", { kind: "vague", grades: { best: 3 } }),
      // A listing with a grade doesn't count, whatever its kind.
      queryOf("c", { kind: "vague", grades: { squatting: 3 } }),
    ];
    const report = await reportOf((query) => Promise.resolve(answers[query] ?? []), queries, listings);
    assert.closeTo(report.ndcg10, (1 + 1 / Math.log2(3) + 1) / 3, NEAR);
    assert.closeTo(report.mrr, (1 + 1 / 2 + 1) / 3, NEAR);
    assert.strictEqual(report.recall20, 1);
    assert.hasAllKeys(report.byKind, ["paraphrase", "vague"]);
    assert.strictEqual(report.byKind.paraphrase, 1);
    assert.deepEqual(report.intruders, {
      "hard-negative": 0,
      vague: 2,
      stuffed: 1,
      squatting: 1,
      "near-duplicate": 1,
      adversarial: 0,
    });
    // A copy repeats only what stands above it.
    assert.strictEqual(report.repeats, 1);
    const first = await reportOf(() => Promise.resolve(["copy", "good"]), queries.slice(0, 1), listings);
    assert.strictEqual(first.repeats, 0);
  });

  it("the overlap is the share of a query's different stems, stop words left out, that a listing has", () => {
    const listing = listingOf("trip", { title: "Bookings", description: "Flights to Rome", category: "booking" });
    assert.strictEqual(overlapOf("book me a flight or a flight and a hotel to Rome tomorrow", listing), 3 / 5);
    assert.strictEqual(overlapOf("somewhere warm", listing), 0);
  });
});
