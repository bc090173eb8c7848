import { assert } from "chai";

import type { TradingHistory } from "../../../api/features/agents/score.ts";
import type { StandingRecord } from "../../../api/features/agents/model.ts";
import type { Encoding, SentenceEncoder } from "../../../api/features/search/embedding/encoder.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import { createListingIndex } from "../../../api/features/search/listing-index.ts";
import { rank } from "../../../api/features/search/ranking.ts";
import { createDiscoverService } from "../../../api/features/search/service.ts";
import { createLogger } from "../../../api/lib/logger.ts";

const NEW: TradingHistory = { score: 0, distinctCounterparties: 0, topCounterpartyCount: 0, settledCount: 0 };
const TRUSTED: TradingHistory = { score: 100, distinctCounterparties: 10, topCounterpartyCount: 1, settledCount: 100 };
const ENCODING: Encoding = { vector: new Float32Array([1, 0]), knownWordShare: 1 };

const walletOf = (n: number) => `0x${n.toString(16).padStart(40, "0")}` as const;
const listingOf = (n: number, fields: Partial<Listing> = {}): Listing => ({
  ...{ id: `lst_${String(n).padStart(8, "0")}`, sellerAgentId: `agt_${n}`, sellerAddress: walletOf(n) },
  ...{ title: "Title", description: "Text", category: "other", price: "1", priceUnit: "flat", currency: "USDC" },
  ...{ deliveryType: "webhook", callbackRequired: false, endpointUrl: null, network: "base", status: "active" },
  ...{ createdAt: new Date(0), updatedAt: new Date(0) },
  ...fields,
});
/** A unit vector with this cosine to the query's. */
const vectorOf = (cosine: number) => new Float32Array([cosine, Math.sqrt(1 - cosine * cosine)]);
const query = { text: "zebra", encoding: ENCODING };

describe("the search index", () => {
  it("[S1.01] returns at most the requested number of documents that pass the filter, most relevant first", async () => {
    const index = createListingIndex();
    for (let n = 0; n < 100; n += 1) {
      await index.put(listingOf(n, { currency: n % 2 === 0 ? "USDC" : "ETH" }), vectorOf(0.3 + n / 200));
    }
    await index.put(listingOf(100), vectorOf(0.1));
    const idsOf = async (filter: Parameters<typeof index.search>[1], limit: number) =>
      (await index.search(query, filter, limit)).map(({ document }) => Number(document.id.slice(4)));
    assert.deepEqual(await idsOf({}, 3), [99, 98, 97]);
    // The filter applies before the limit.
    assert.deepEqual(await idsOf({ currency: "USDC" }, 3), [98, 96, 94]);
    const prices = [{ currencies: ["ETH"], min: "0.5", max: "1" }] as const;
    assert.deepEqual(await idsOf({ prices }, 2), [99, 97]);
    assert.deepEqual(await idsOf({ prices: [] }, 2), []);
    // What doesn't answer isn't returned, with any limit.
    assert.lengthOf(await idsOf({}, 1_000), 100);
    assert.strictEqual(await index.count(), 101);
    await index.remove(listingOf(99).id);
    assert.deepEqual(await idsOf({}, 1), [98]);
  });

  it("says what meaning and words add to a match, and gives its vector", async () => {
    const index = createListingIndex();
    await index.put(listingOf(1, { title: "Zebra" }), vectorOf(0.5));
    await index.put(listingOf(2), vectorOf(0.4));
    const [both, meaning] = await index.search(query, {}, 2);
    assert.ok(both !== undefined && meaning !== undefined);
    assert.closeTo(both.parts.meaning, 0.5, 1e-6);
    assert.ok(both.parts.words > 0);
    assert.closeTo(both.relevance, both.parts.meaning + both.parts.words, 1e-12);
    assert.deepEqual([meaning.parts.words, meaning.relevance], [0, meaning.parts.meaning]);
    assert.deepEqual(meaning.vector, vectorOf(0.4));
  });

  it("answers a query that has no vector by words alone", async () => {
    const index = createListingIndex();
    await index.put(listingOf(1, { title: "Zebra" }), vectorOf(0.1));
    await index.put(listingOf(2), vectorOf(1));
    const matches = await index.search({ text: "zebra", encoding: null }, {}, 10);
    assert.deepEqual(
      matches.map(({ document, parts }) => [document.id, parts.meaning]),
      [[listingOf(1).id, 0]],
    );
  });
});

describe("the ranking of search results", () => {
  it("[S1.01] handles 200,000 matches", () => {
    const matches = Array.from({ length: 200_000 }, (_, n) => ({
      ...{ listing: listingOf(n), relevance: n === 7 ? 0.9 : 0.6, parts: { meaning: 0.6, words: 0 }, vector: null },
      ...{ history: NEW, categoryFit: 1, priceShare: undefined },
    }));
    const ranked = rank(matches);
    assert.deepEqual([ranked.length, ranked[0]?.listing.id], [200_000, listingOf(7).id]);
  });

  /** Discovery of listings, some with a trusted seller. Records how many candidates each search asked for. */
  async function discovery(cosines: readonly number[], trusted: readonly number[]) {
    const index = createListingIndex();
    for (const [n, cosine] of cosines.entries()) await index.put(listingOf(n), vectorOf(cosine));
    const limits: number[] = [];
    const service = createDiscoverService({
      encoder: { model: "test", encode: () => Promise.resolve(ENCODING) } as unknown as SentenceEncoder,
      index: {
        ...index,
        search: (asked, filter, limit) => {
          limits.push(limit);
          return index.search(asked, filter, limit);
        },
      },
      standings: {
        sync: () => Promise.resolve(),
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

  it("[D23] asks for no more candidates when none beyond them can win", async () => {
    const cosines = [...Array.from({ length: 10 }, () => 0.95), ...Array.from({ length: 1_000 }, () => 0.35)];
    const { service, limits } = await discovery(cosines, [1_009]);
    assert.lengthOf(await service.discover("zebra", {}, 50), 10);
    assert.lengthOf(limits, 1);
  });

  it("[S4.r12.3] finds the only seller with the score among many more relevant ones", async () => {
    const cosines = [...Array.from({ length: 3_000 }, () => 0.9), 0.5];
    const { service } = await discovery(cosines, [3_000]);
    const found = await service.find("zebra", { minTrustScore: 0.9 }, 10);
    assert.deepEqual(
      found.map(({ id }) => id),
      [listingOf(3_000).id],
    );
  });
});
