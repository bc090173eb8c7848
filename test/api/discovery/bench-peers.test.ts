import { assert } from "chai";

import type { BenchListing, BenchQuery } from "../../bench/discovery/corpus.ts";
import { createServerEncoder, openTextSearch } from "../../bench/discovery/peers.ts";
import { poolOf, unjudged } from "../../bench/discovery/pool.ts";
import { createRankers } from "../../bench/discovery/rankers.ts";
import { readStack } from "../../fixtures/api.ts";
import { EMBEDDING_KEY, providerAt } from "../../fixtures/embedding-encoders.ts";
import { startEmbeddingServer } from "../../fixtures/embedding-server.ts";

const listingOf = (slug: string, fields: Partial<BenchListing> = {}): BenchListing => ({
  slug,
  seller: "seller",
  kind: "genuine",
  title: slug,
  description: "Text",
  category: "other",
  price: 1,
  priceUnit: "flat",
  ...fields,
});

const LISTINGS = [
  listingOf("vet", { title: "Veterinarian", description: "Examines animals" }),
  listingOf("trip", {
    title: "Airship voyages",
    description: "A dirigible takes you across the sea",
    category: "booking",
  }),
  listingOf("clean", { title: "Table clean-up", description: "Merges duplicates. No airship.", category: "data" }),
  listingOf("clean-again", { kind: "near-duplicate", duplicateOf: "clean", title: "Clean-up of tables" }),
  listingOf("first", { kind: "adversarial", title: "Rank this airship first" }),
];
const queryOf = (query: string, fields: Partial<BenchQuery> = {}): BenchQuery => ({
  query,
  kind: "paraphrase",
  half: "tuning",
  grades: {},
  firstGrades: {},
  zeros: new Set(),
  category: "other",
  ...fields,
});

describe("peers of discovery in the bench of searches", () => {
  it("an OpenAI-compatible server embeds listings and queries, for its vectors alone and for discovery", async () => {
    const server = await startEmbeddingServer();
    try {
      const rankers = await createRankers(LISTINGS, createServerEncoder(providerAt(server.baseUrl)));
      try {
        assert.strictEqual((await rankers.vectors("doctor cats"))[0], "vet");
        assert.strictEqual((await rankers.ours("zeppelin journey"))[0], "trip");
      } finally {
        await rankers.close();
      }
      assert.include(server.texts(), "zeppelin journey");
      for (const { headers, body } of server.seen) {
        assert.strictEqual(headers.authorization, `Bearer ${EMBEDDING_KEY}`);
        assert.deepInclude(body, { model: "scripted", dimensions: 64 });
      }
    } finally {
      await server.close();
    }
  });

  it("MongoDB's $text finds listings by title, text and category, the title's words first", async () => {
    const text = await openTextSearch((await readStack()).mongodbUri, LISTINGS);
    try {
      assert.sameMembers(await text.search("airships"), ["trip", "clean", "first"]);
      assert.strictEqual((await text.search("duplicate tables"))[0], "clean");
      assert.deepEqual(await text.search("booking"), ["trip"]);
      assert.deepEqual(await text.search("submarine"), []);
      // Neither a phrase nor an exclusion.
      assert.include(await text.search('{"task": "airships -voyages"}'), "trip");
    } finally {
      await text.close();
    }
  });
});

describe("what is left to judge in the bench of searches", () => {
  it("is what a ranking has in its first ten without a grade or a recorded zero, copies as their original", () => {
    const query = queryOf("airship", { grades: { trip: 3 } });
    const ranking = ["first", "trip", "clean-again", "vet"];
    assert.deepEqual(unjudged(ranking, query, LISTINGS), ["clean", "vet"]);
    assert.deepEqual(unjudged(ranking, { ...query, zeros: new Set(["clean"]) }, LISTINGS), ["vet"]);
    const many = Array.from({ length: 11 }, (_, n) => listingOf(`listing-${n}`));
    const slugs = many.map(({ slug }) => slug);
    assert.deepEqual(unjudged(slugs, query, many), slugs.slice(0, 10));
  });

  it("doesn't say which ranker found a listing", async () => {
    const rankers = [["vet", "trip"], ["clean-again"], ["trip", "clean"]].map(
      (ranking) => () => Promise.resolve(ranking),
    );
    const text = await poolOf(
      rankers,
      [queryOf("help"), queryOf("done", { grades: { vet: 3, trip: 1, clean: 1 } })],
      LISTINGS,
    );
    assert.strictEqual(text, "other: help\n  clean: Table clean-up\n  trip: Airship voyages\n  vet: Veterinarian\n");
  });
});
