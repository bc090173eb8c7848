import { assert } from "chai";
import { listingFormat } from "../../../api/features/discovery/listing-format.ts";
import type { ListingFilter } from "../../../api/features/discovery/listing-format.ts";
import { openListingTable } from "../../fixtures/listing-table.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { ENCODING, listingOf, storedOf, vectorOf } from "../../fixtures/stored-listings.ts";

const query = { text: "zebra", encoding: ENCODING };

describe("the search index", () => {
  let opened: { close(): Promise<void> }[] = [];
  const openTable = async (...documents: ReturnType<typeof storedOf>[]) => {
    const index = await openListingTable(documents, 2);
    opened.push(index);
    return index;
  };
  afterEach(async () => {
    await Promise.all(opened.map((index) => index.close()));
    opened = [];
  });

  it("[S1.01] returns at most the requested number of documents that pass the filter, most relevant first", async () => {
    const many = Array.from({ length: 100 }, (_, n) =>
      storedOf(listingOf(n, { currency: n % 2 === 0 ? "USDC" : "ETH" }), vectorOf(0.3 + n / 200)),
    );
    const index = await openTable(...many, storedOf(listingOf(100), vectorOf(0.1)));
    const idsOf = async (filter: ListingFilter, limit: number) =>
      (await index.search(query, filter, limit)).map(({ document }) => Number(document.id.slice(4)));
    assert.deepEqual(await idsOf({}, 3), [99, 98, 97]);
    // The filter applies before the limit.
    assert.deepEqual(await idsOf({ currency: "USDC" }, 3), [98, 96, 94]);
    const prices = [{ currencies: ["ETH"], min: "0.5", max: "1" }] as const;
    assert.deepEqual(await idsOf({ prices }, 2), [99, 97]);
    assert.deepEqual(await idsOf({ prices: [] }, 2), []);
    // What doesn't answer isn't returned, with any limit.
    assert.lengthOf(await idsOf({}, 1_000), 100);
    assert.strictEqual(await index.table.count(), 101);
    await index.table.apply(listingFormat, [], [{ id: listingOf(99).id, revision: 1 }]);
    assert.deepEqual(await idsOf({}, 1), [98]);
  });

  it("says what meaning and words add to a match, and gives its vector", async () => {
    const index = await openTable(
      storedOf(listingOf(1, { title: "Zebra" }), vectorOf(0.5)),
      storedOf(listingOf(2), vectorOf(0.4)),
    );
    const [both, meaning] = await index.search(query, {}, 2);
    assert.ok(both !== undefined && meaning !== undefined);
    assert.closeTo(both.parts.meaning, 0.5, 1e-6);
    assert.ok(both.parts.words > 0);
    assert.closeTo(both.relevance, both.parts.meaning + both.parts.words, 1e-12);
    assert.deepEqual([meaning.parts.words, meaning.relevance], [0, meaning.parts.meaning]);
    assert.deepEqual(meaning.vector, vectorOf(0.4));
  });

  it("answers a query that has no vector by words alone", async () => {
    const index = await openTable(
      storedOf(listingOf(1, { title: "Zebra" }), vectorOf(0.1)),
      storedOf(listingOf(2), vectorOf(1)),
    );
    const matches = await index.search({ text: "zebra", encoding: null }, {}, 10);
    assert.deepEqual(
      matches.map(({ document, parts }) => [document.id, parts.meaning]),
      [[listingOf(1).id, 0]],
    );
  });

  it("a word of the query counts in every form that has its stem", async () => {
    const titles = ["Scraping the web", "Scrape the web", "Scraped webs", "Studies", "A study", "Studying", "Pricing"];
    const index = await openTable(...titles.map((title, n) => storedOf(listingOf(n, { title }), null)));
    const found = async (text: string) =>
      (await index.search({ text, encoding: null }, {}, 10)).map(({ document }) => document.title).sort();
    for (const text of ["scraping", "scrapes"]) {
      assert.deepEqual(await found(text), ["Scrape the web", "Scraped webs", "Scraping the web"], text);
    }
    assert.deepEqual(await found("study"), ["A study", "Studies", "Studying"]);
    assert.deepEqual(await found("price"), ["Pricing"]);
  });

  it("the filter applies before the limit among words, too", async () => {
    const many = Array.from({ length: 100 }, (_, n) =>
      storedOf(listingOf(n, { title: "Zebra ".repeat(n + 1), currency: n < 3 ? "ETH" : "USDC" }), null),
    );
    const index = await openTable(...many);
    const found = await index.search(query, { currency: "ETH" }, 3);
    assert.sameMembers(
      found.map(({ document }) => document.id),
      [0, 1, 2].map((n) => listingOf(n).id),
    );
  });

  it("a write that comes late doesn't undo a newer one", async () => {
    const index = await openTable(storedOf(listingOf(1, { title: "Zebra, second" }), null, 2));
    const found = async () => (await index.search(query, {}, 10)).map(({ document }) => document.title);
    const write = (title: string, revision: number) =>
      index.table.apply(listingFormat, [storedOf(listingOf(1, { title }), null, revision)], []);
    await write("Zebra, first", 1);
    assert.deepEqual(await found(), ["Zebra, second"]);
    await index.table.apply(listingFormat, [], [{ id: listingOf(1).id, revision: 1 }]);
    assert.deepEqual(await found(), ["Zebra, second"]);
    await write("Zebra, third", 3);
    assert.deepEqual(await found(), ["Zebra, third"]);
    await index.table.apply(listingFormat, [], [{ id: listingOf(1).id, revision: undefined }]);
    assert.deepEqual(await found(), []);
  });

  describe("the index of vectors", () => {
    const random = seededRandom();
    const many = (dimensions: number, from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => {
        const vector = Float32Array.from({ length: dimensions }, () => random() - 0.5);
        const length = Math.hypot(...vector);
        return storedOf(
          listingOf(from + n),
          vector.map((value) => value / length),
        );
      });

    // The engine compresses vectors in another way if eight doesn't divide their length.
    for (const dimensions of [16, 12]) {
      it(`of ${dimensions} dimensions is made from a number on, and again when they have become four times as many`, async () => {
        const documents = many(dimensions, 0, 1_200);
        const index = await openListingTable(documents.slice(0, 299), dimensions);
        opened.push(index);
        const { table } = index;
        assert.strictEqual(await table.vectorsToIndex(0, 300), 0);
        await table.add(listingFormat, documents.slice(299, 300));
        assert.strictEqual(await table.vectorsToIndex(0, 300), 300);
        await table.indexVectors();
        assert.strictEqual(await table.vectorsToIndex(300, 300), 0);
        await table.add(listingFormat, documents.slice(300, 1_199));
        assert.strictEqual(await table.vectorsToIndex(300, 300), 0);
        await table.add(listingFormat, documents.slice(1_199));
        assert.strictEqual(await table.vectorsToIndex(300, 300), 1_200);
        await table.indexVectors();
        assert.strictEqual(await table.vectorsToIndex(1_200, 300), 0);
        for (const { document, vector } of [documents[0], documents[299], documents[1_199]].flatMap((it) => it ?? [])) {
          assert.ok(vector !== null);
          const [nearest] = await index.search({ text: "zebra", encoding: { vector, knownWordShare: 1 } }, {}, 10);
          assert.strictEqual(nearest?.document.id, document.id);
        }
      });
    }

    it("is made again once it has more than eight additions", async () => {
      const documents = many(16, 0, 309);
      const index = await openListingTable(documents.slice(0, 300), 16);
      opened.push(index);
      const { table } = index;
      await table.indexVectors();
      for (const [n, document] of documents.slice(300).entries()) {
        assert.strictEqual(await table.vectorsToIndex(300, 300), 0, `${n} additions`);
        await table.apply(listingFormat, [document], []);
        await table.tidy();
      }
      assert.strictEqual(await table.vectorsToIndex(300, 300), 309);
      await table.indexVectors();
      assert.strictEqual(await table.vectorsToIndex(300, 300), 0);
    });

    it("is made once there are enough vectors, however many documents have none", async () => {
      const documents = many(16, 0, 300);
      const bare = documents.slice(0, 299).map((stored) => ({ ...stored, vector: null }));
      const index = await openListingTable(bare, 16);
      opened.push(index);
      const { table } = index;
      await table.apply(listingFormat, documents.slice(299), []);
      assert.strictEqual(await table.vectorsToIndex(0, 300), 0);
      await table.apply(listingFormat, documents, []);
      assert.strictEqual(await table.vectorsToIndex(0, 300), 300);
      await table.indexVectors();
      assert.strictEqual(await table.vectorsToIndex(300, 300), 0);
    });
  });

  it("a filter's values are texts and no conditions", async () => {
    const index = await openTable(storedOf(listingOf(1, { title: "Zebra" }), null));
    for (const sellerId of ["' OR '1'='1", "\\' OR 1=1 --", "agt_1' --", "agt_1\u0000"]) {
      assert.deepEqual(await index.search(query, { sellerId }, 10), [], sellerId);
    }
    assert.lengthOf(await index.search(query, { sellerId: "agt_1" }, 10), 1);
  });

  it("compares prices exactly, from the smallest to the largest", async () => {
    const prices = ["0.000001", "1.000001", "1.000002", "0.100000000000000001", "1000000000000000"];
    const index = await openTable(
      ...prices.map((price, n) => storedOf(listingOf(n, { title: "Zebra", currency: "ETH", price }), null)),
    );
    const within = async (min: string, max: string) =>
      (await index.search(query, { prices: [{ currencies: ["ETH"], min, max }] }, 10))
        .map(({ document }) => document.price)
        .sort();
    assert.deepEqual(await within("0", "1.000001"), ["0.000001", "0.100000000000000001", "1.000001"]);
    assert.deepEqual(await within("0", "0.1"), ["0.000001"]);
    assert.deepEqual(await within("0.100000000000000001", "1"), ["0.100000000000000001"]);
    assert.deepEqual(await within("1000000000000000", "1e30"), ["1000000000000000"]);
  });

  it("a query of nothing but stop words, signs or other scripts finds what the vector finds", async () => {
    const index = await openTable(storedOf(listingOf(1), vectorOf(0.9)), storedOf(listingOf(2), null));
    for (const text of ["the and of", "?!? ...", '"quoted" AND (', "日本語", "\u0000", "a".repeat(1_000)]) {
      const found = (await index.search({ text, encoding: ENCODING }, {}, 10)).map(({ document }) => document.id);
      assert.deepEqual(found, [listingOf(1).id], text);
    }
  });
});
