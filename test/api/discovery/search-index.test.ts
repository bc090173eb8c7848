import { Index } from "@lancedb/lancedb";
import { assert } from "chai";

import type { TradingHistory } from "../../../api/features/agents/score.ts";
import { NEW_STANDING } from "../../../api/features/agents/standings.ts";
import type { StandingRecord } from "../../../api/features/agents/model.ts";
import type { Encoding, SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import type { SearchFilter } from "../../../api/features/listings/list.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import { sellerStepsOf } from "../../../api/features/discovery/merit.ts";
import { rank } from "../../../api/features/discovery/ranking.ts";
import { createDiscoverService } from "../../../api/features/discovery/service.ts";
import { LISTING_FORMAT, listingFormat, rankingValuesOf } from "../../../api/features/discovery/listing-format.ts";
import type { ListingFilter } from "../../../api/features/discovery/listing-format.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { openEngineTable } from "../../fixtures/engine-table.ts";
import { LISTING_TABLE, openListingTable, UNASKED_DATABASE } from "../../fixtures/listing-table.ts";
import { seededRandom } from "../../fixtures/random.ts";

const TRUSTED: TradingHistory = {
  score: 100,
  distinctCounterparties: 10,
  topCounterpartyCount: 1,
  settledCount: 100,
  released: 100,
  lateDeclines: 0,
  earlyDeclineShare: 0,
};
const ENCODING: Encoding = { vector: new Float32Array([1, 0]), knownWordShare: 1 };

const walletOf = (n: number) => `0x${n.toString(16).padStart(40, "0")}` as const;
const listingOf = (n: number, fields: Partial<Listing> = {}): Listing => ({
  id: `lst_${String(n).padStart(8, "0")}`,
  sellerAgentId: `agt_${n}`,
  sellerAddress: walletOf(n),
  title: "Title",
  description: "Text",
  category: "other",
  price: "1",
  priceUnit: "flat",
  currency: "USDC",
  deliveryType: "webhook",
  callbackRequired: false,
  endpointUrl: null,
  network: "base",
  status: "active",
  createdAt: new Date(0),
  updatedAt: new Date(0),
  ...fields,
});
/** A unit vector with this cosine to the query's. */
const vectorOf = (cosine: number) => new Float32Array([cosine, Math.sqrt(1 - cosine * cosine)]);
const storedOf = (document: Listing, vector: Float32Array | null, revision = 1) => ({ document, vector, revision });
const query = { text: "zebra", encoding: ENCODING };
const COMPLETE =
  "Reads the contracts of a token and writes a report on owners, mint rights, upgrades, fees and hidden traps.";

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

    it("of another kind, as an earlier version made it, is replaced", async () => {
      const index = await openListingTable(many(16, 0, 300), 16);
      opened.push(index);
      const config = Index.ivfPq({ distanceType: "cosine" });
      await (await openEngineTable(index.dir, LISTING_TABLE)).createIndex("vector", { name: "vector_idx", config });
      await index.table.refresh();
      assert.strictEqual(await index.table.vectorsToIndex(300, 300), 300);
      await index.table.indexVectors();
      assert.strictEqual(await index.table.vectorsToIndex(300, 300), 0);
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

describe("the ranking of search results", () => {
  it("[S1.01] handles 200,000 matches", () => {
    const matches = Array.from({ length: 200_000 }, (_, n) => ({
      listing: listingOf(n),
      relevance: n === 7 ? 0.9 : 0.6,
      parts: { meaning: 0.6, words: 0 },
      vector: null,
      history: NEW_STANDING,
      categoryFit: 1,
      priceShare: undefined,
    }));
    const ranked = rank(matches);
    assert.deepEqual([ranked.length, ranked[0]?.listing.id], [200_000, listingOf(7).id]);
  });

  const opened: { close(): Promise<void> }[] = [];
  after(() => Promise.all(opened.map((index) => index.close())));

  /**
   * Discovery of listings, some with a trusted seller on mainnet. Records how many candidates each search asked for.
   * @param format of the index; one of an earlier layout knows nothing of sellers
   */
  async function discovery(
    cosines: readonly number[],
    trusted: readonly number[],
    fieldsOf: (n: number) => Partial<Listing> = () => ({}),
    format = LISTING_FORMAT,
  ) {
    const documents = cosines.map((cosine, n) => {
      const listing = listingOf(n, fieldsOf(n));
      const history = trusted.includes(Number(listing.sellerAddress)) ? TRUSTED : NEW_STANDING;
      return { ...storedOf(listing, vectorOf(cosine)), values: rankingValuesOf(listing, 1, sellerStepsOf(history)) };
    });
    const index = await openListingTable(documents, 2);
    opened.push(index);
    const limits: number[] = [];
    const service = createDiscoverService({
      encoders: { of: () => ({ encode: () => Promise.resolve(ENCODING) }) as unknown as SentenceEncoder },
      stored: index.stored,
      database: UNASKED_DATABASE,
      index: {
        model: () => Promise.resolve("test"),
        format: () => Promise.resolve(format),
        search: (asked, filter, limit) => {
          limits.push(limit);
          return index.search(asked, filter, limit);
        },
      },
      standings: {
        of: (network, wallets) =>
          Promise.resolve(
            new Map(
              wallets
                .filter((wallet) => network === "base" && trusted.includes(Number(wallet)))
                .map((wallet) => [wallet.toLowerCase(), TRUSTED as StandingRecord]),
            ),
          ),
      },
      etherPrice: () => Promise.reject(new Error("no price is needed")),
      log: createLogger({ level: "silent", name: "test" }),
    });
    return { service, limits };
  }

  it("[D23] [S2.5.10] finds a trusted seller's listing even if many others are more relevant", async () => {
    // 1,000 listings are a little more relevant than the last one, the only one with a trusted seller.
    const cosines = [...Array.from({ length: 1_000 }, (_, n) => 0.8 + n / 100_000), 0.75];
    const { service, limits } = await discovery(cosines, [1_000]);
    const found = await service.discover("zebra", {}, 3);
    assert.deepEqual(
      found.map(({ listing }) => Number(listing.id.slice(4))),
      [1_000, 999, 998],
    );
    assert.isAbove(limits.length, 1);
  });

  it("searches the listings alone that have enough merit to win, and more candidates if the index doesn't know it", async () => {
    const cosines = [...Array.from({ length: 4 }, () => 0.8), ...Array.from({ length: 3_000 }, () => 0.65), 0.64];
    const last = cosines.length - 1;
    for (const format of [LISTING_FORMAT, LISTING_FORMAT - 1]) {
      const { service, limits } = await discovery(cosines, [last], () => ({ description: COMPLETE }), format);
      const found = await service.discover("zebra", {}, 4);
      assert.strictEqual(Number(found[0]?.listing.id.slice(4)), last);
      assert.deepEqual(limits, format === LISTING_FORMAT ? [200, 200] : [200, 800, 5_000]);
    }
  });

  it("asks for no more candidates if no seller is trusted and unknown ones can't win", async () => {
    const cosines = [...Array.from({ length: 4 }, () => 0.8), ...Array.from({ length: 3_000 }, () => 0.65)];
    const { service, limits } = await discovery(cosines, [], () => ({ description: COMPLETE }));
    assert.lengthOf(await service.discover("zebra", {}, 4), 4);
    assert.isTrue(limits.every((limit) => limit === 200));
  });

  it("searches while the query is being encoded", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<undefined>();
    const encode = (text: string) => (text === "zebra" ? asked.then(() => ENCODING) : Promise.resolve(ENCODING));
    const service = createDiscoverService({
      encoders: { of: () => ({ encode }) as unknown as SentenceEncoder },
      index: {
        model: () => Promise.resolve("test"),
        format: () => Promise.resolve(LISTING_FORMAT),
        async search({ encoding }) {
          resolve(undefined);
          assert.strictEqual(await encoding, ENCODING);
          return [];
        },
      },
      stored: { active: () => Promise.resolve(new Map()) },
      database: UNASKED_DATABASE,
      standings: { of: () => Promise.resolve(new Map()) },
      etherPrice: () => Promise.reject(new Error("no price is needed")),
      log: createLogger({ level: "silent", name: "test" }),
    });
    assert.deepEqual(await service.discover("zebra", {}, 3), []);
  });

  it("[D23] asks for no more candidates when none beyond them can win", async () => {
    const cosines = [...Array.from({ length: 10 }, () => 0.95), ...Array.from({ length: 1_000 }, () => 0.35)];
    const { service, limits } = await discovery(cosines, [1_009]);
    assert.lengthOf(await service.discover("zebra", {}, 50), 10);
    assert.lengthOf(limits, 1);
  });

  it("[S4.r12.3] finds the only seller with the score among many more relevant ones", async () => {
    const cosines = [...Array.from({ length: 3_000 }, () => 0.9), 0.5];
    const { service } = await discovery(cosines, [3_000], () => ({}), LISTING_FORMAT - 1);
    const found = await service.find("zebra", { minTrustScore: 0.9 }, 10);
    assert.deepEqual(
      found.map(({ id }) => id),
      [listingOf(3_000).id],
    );
  });

  it("[S4.r12.3] finds the only seller with the score behind more untrusted ones than one search returns", async () => {
    const cosines = [...Array.from({ length: 8_000 }, () => 0.9), 0.5];
    const { service } = await discovery(cosines, [8_000], () => ({}), LISTING_FORMAT - 1);
    const found = await service.find("zebra", { minTrustScore: 0.9 }, 10);
    assert.deepEqual(
      found.map(({ id }) => id),
      [listingOf(8_000).id],
    );
  });

  it("[S4.r12.3] finds the only seller with the score among 25,000, with one search", async () => {
    const others = 25_000;
    const cosines = [...Array.from({ length: others }, () => 0.9), 0.5];
    const { service, limits } = await discovery(cosines, [others]);
    const find = async (fields: SearchFilter) =>
      (await service.find("zebra", { minTrustScore: 0.9, ...fields }, 10)).map(({ id }) => id);
    assert.deepEqual(await find({}), [listingOf(others).id]);
    assert.lengthOf(limits, 1);
    assert.deepEqual(await find({ network: "base" }), [listingOf(others).id]);
    assert.deepEqual(await find({ network: "base-sepolia" }), []);
    assert.deepEqual(await find({ sellerId: "agt_7" }), []);
  });

  it("[D23] a seller with more copies than one search returns hides no other seller", async () => {
    const flood = 6_000;
    const ofFlood = { sellerAgentId: "agt_flood", sellerAddress: walletOf(1) };
    const cosines = [...Array.from({ length: flood }, () => 0.9), 0.7, 0.6];
    const { service, limits } = await discovery(cosines, [], (n) => (n < flood ? ofFlood : {}));
    const sellersOf = async (filter: { sellerId?: string }, limit: number) =>
      (await service.discover("zebra", filter, limit)).map(({ listing }) => listing.sellerAgentId);
    const sellers = ["agt_flood", `agt_${flood}`, `agt_${flood + 1}`];
    assert.deepEqual(await sellersOf({}, 3), sellers);
    assert.isAtMost(limits.length, 2);
    // A search for that seller's listings leaves none of them out.
    assert.deepEqual(await sellersOf({ sellerId: "agt_flood" }, 3), ["agt_flood", "agt_flood", "agt_flood"]);
  });

  it("[D23] a seller's copies on another network hide nobody there either", async () => {
    const flood = 7_000;
    const cosines = [...Array.from({ length: flood }, () => 0.9), 0.7];
    const { service } = await discovery(cosines, [], (n) => ({
      ...(n < flood ? { sellerAgentId: "agt_flood", sellerAddress: walletOf(1) } : {}),
      network: n < flood / 2 ? "base" : "base-sepolia",
    }));
    const found = (await service.discover("zebra", {}, 3)).map(({ listing }) => listing);
    const places = found.map(({ sellerAgentId, network }) => [sellerAgentId, network]);
    assert.sameDeepMembers(places, [
      ["agt_flood", "base"],
      ["agt_flood", "base-sepolia"],
      [`agt_${flood}`, "base-sepolia"],
    ]);
  });
});
