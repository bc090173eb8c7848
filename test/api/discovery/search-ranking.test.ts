import { assert } from "chai";
import type { TradingHistory } from "../../../api/features/agents/score.ts";
import { NEW_STANDING } from "../../../api/features/agents/standings.ts";
import type { StandingRecord } from "../../../api/features/agents/model.ts";
import type { SearchFilter } from "../../../api/features/listings/list.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import { sellerStepsOf } from "../../../api/features/discovery/merit.ts";
import { rank } from "../../../api/features/discovery/ranking.ts";
import { createDiscoverService } from "../../../api/features/discovery/service.ts";
import { computeRankingValues } from "../../../api/features/discovery/listing-format.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { NOTHING_FOUND, openListingTable, UNASKED_DATABASE } from "../../fixtures/listing-table.ts";
import { ENCODING, listingOf, storedOf, vectorOf, walletOf } from "../../fixtures/stored-listings.ts";

const TRUSTED: TradingHistory = {
  score: 100,
  distinctCounterparties: 10,
  topCounterpartyCount: 1,
  settledCount: 100,
  released: 100,
  lateDeclines: 0,
  earlyDeclineShare: 0,
};
const COMPLETE =
  "Reads the contracts of a token and writes a report on owners, mint rights, upgrades, fees and hidden traps.";

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

  /** Discovery of listings, some with a trusted seller on mainnet. Records how many candidates each search asked for. */
  async function discovery(
    cosines: readonly number[],
    trusted: readonly number[],
    fieldsOf: (n: number) => Partial<Listing> = () => ({}),
  ) {
    const documents = cosines.map((cosine, n) => {
      const listing = listingOf(n, fieldsOf(n));
      const history = trusted.includes(Number(listing.sellerAddress)) ? TRUSTED : NEW_STANDING;
      return {
        ...storedOf(listing, vectorOf(cosine)),
        values: computeRankingValues(listing, 1, sellerStepsOf(history)),
      };
    });
    const index = await openListingTable(documents, 2);
    opened.push(index);
    const limits: number[] = [];
    const service = createDiscoverService({
      encoder: { encode: () => Promise.resolve(ENCODING) },
      loadCategoryFit: () => Promise.resolve(() => 1),
      stored: index.stored,
      database: UNASKED_DATABASE,
      index: {
        find: (asked, filter, limit, work, options) => {
          limits.push(limit);
          return index.find(asked, filter, limit, work, options);
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
    return { service, limits, present: index.present };
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

  it("searches the listings alone that have enough merit to win", async () => {
    const cosines = [...Array.from({ length: 4 }, () => 0.8), ...Array.from({ length: 3_000 }, () => 0.65), 0.64];
    const last = cosines.length - 1;
    const { service, limits } = await discovery(cosines, [last], () => ({ description: COMPLETE }));
    const found = await service.discover("zebra", {}, 4);
    assert.strictEqual(Number(found[0]?.listing.id.slice(4)), last);
    assert.deepEqual(limits, [800, 800]);
  });

  it("asks for no more candidates if no seller is trusted and unknown ones can't win", async () => {
    const cosines = [...Array.from({ length: 4 }, () => 0.8), ...Array.from({ length: 3_000 }, () => 0.65)];
    const { service, limits } = await discovery(cosines, [], () => ({ description: COMPLETE }));
    assert.lengthOf(await service.discover("zebra", {}, 4), 4);
    assert.isTrue(limits.every((limit) => limit === 800));
  });

  it("fills the places of those that have just left with the next best, though it hasn't read them", async () => {
    const cosines = Array.from({ length: 300 }, (_, n) => 0.9 - n / 1_000);
    const { service, present } = await discovery(cosines, []);
    for (let n = 0; n < 60; n += 1) present.delete(listingOf(n).id);
    const found = await service.find("zebra", {}, 5);
    assert.deepEqual(
      found.map(({ id }) => id),
      [60, 61, 62, 63, 64].map((n) => listingOf(n).id),
    );
  });

  it("searches while the query is being encoded", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<undefined>();
    const service = createDiscoverService({
      encoder: { encode: () => asked.then(() => ENCODING) },
      loadCategoryFit: () => Promise.resolve(() => 1),
      index: {
        async find({ encoding }, _filter, _limit, work) {
          resolve(undefined);
          assert.strictEqual(await encoding, ENCODING);
          return await work(NOTHING_FOUND);
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
    const { service } = await discovery(cosines, [3_000]);
    const found = await service.find("zebra", { minTrustScore: 0.9 }, 10);
    assert.deepEqual(
      found.map(({ id }) => id),
      [listingOf(3_000).id],
    );
  });

  it("[S4.r12.3] finds the only seller with the score behind more untrusted ones than one search returns", async () => {
    const cosines = [...Array.from({ length: 8_000 }, () => 0.9), 0.5];
    const { service } = await discovery(cosines, [8_000]);
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
