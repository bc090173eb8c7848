// What the lists of services make the database read: little more than they answer, with any filter and sort order. And
// the ranges that they read are the whole list.
import { randomBytes } from "node:crypto";

import BigNumber from "bignumber.js";
import { assert } from "chai";
import { Types } from "mongoose";
import type { Connection } from "mongoose";

import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { CURRENCIES, DELIVERY_TYPES, NETWORKS, SERVICE_STATUSES } from "../../../api/config/constants.ts";
import { listingRanges, listListings } from "../../../api/features/listings/list.ts";
import { listingModel } from "../../../api/features/listings/model.ts";
import type { ListingModel, ListingRecord } from "../../../api/features/listings/model.ts";
import { priceRanges } from "../../../api/features/listings/price-filter.ts";
import { createPublishedListings } from "../../../api/features/listings/published.ts";
import { LISTING_SORTS, listListingsQuery } from "../../../api/features/listings/schemas.ts";
import { encodeCursor } from "../../../api/http/query-params.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { readsOf } from "../../fixtures/profile.ts";

const STORED = 6_000;
const LIMIT = 5;
/** One in this many listings differs from the rest in category, network, currency, delivery type or status. */
const RARE = 100;
/** The number of ranges that an index has before its order, for a seller who sees all statuses. */
const RANGES = SERVICE_STATUSES.length * NETWORKS.length * CURRENCIES.length * DELIVERY_TYPES.length;
const ETHER_USD = new BigNumber("2500");
const CALLER = { agentId: "agt_busy", walletAddress: "0x0", keyId: "key_1" } as const;
const SORTS = LISTING_SORTS.filter((sort) => sort !== "relevance");

type Query = Record<string, string>;

describe("lists of services in the database", () => {
  let connection: Connection;
  let listings: ListingModel;
  const etherPrice = () => Promise.resolve(ETHER_USD);
  const deps = () => ({
    listings,
    etherPrice,
    search: { find: () => Promise.reject(new Error("nothing is searched")) },
    standings: { of: () => Promise.reject(new Error("nobody is rated")) },
  });

  const recordOf = (n: number): ListingRecord => {
    const rare = n % RARE;
    return {
      _id: `lst_${String(n).padStart(32, "0")}`,
      sellerAgentId: n % 2 === 0 ? "agt_busy" : `agt_${n}`,
      sellerAddress: "0x0",
      sellerKey: `0x${n % 7}`,
      title: "Title",
      description: "Description",
      category: rare === 1 || rare === 12 ? "pkm" : "accounting",
      // Half of all listings have the same price. The other prices rise, so the newest listings are the most expensive.
      price: Types.Decimal128.fromString(n % 4 < 2 ? "1" : String(2 + n)),
      priceUnit: "flat",
      callbackRequired: false,
      endpointUrl: null,
      revision: 1,
      embedding: null,
      currency: rare === 3 || rare === 4 ? "ETH" : rare === 5 ? "POL" : rare % 2 === 0 ? "USDC" : "USD",
      deliveryType: rare === 7 || rare === 8 ? "async" : "webhook",
      network: rare === 9 || rare === 10 ? "base" : "base-sepolia",
      status: rare === 13 || rare === 14 ? "paused" : "active",
      createdAt: new Date(0),
      updatedAt: new Date(0),
    };
  };
  const stored = Array.from({ length: STORED }, (_, n) => recordOf(n));

  before(async () => {
    const { mongodbUri } = await readStack();
    const log = createLogger({ level: "silent", name: "test" });
    connection = await connectDatabase(mongodbUri, log, `test_listings_${randomBytes(6).toString("hex")}`);
    listings = listingModel(connection);
    await createIndexes(connection);
    await listings.collection.insertMany(stored as never[]);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  it("the site map takes the newest and their sellers from the index alone, sorted as they stand there", async () => {
    const MOST = 1_000;
    const published = createPublishedListings(listings);
    let found: { id: string }[] = [];
    const reads = await readsOf(connection, "listings", async () => {
      found = await published.newestIds(MOST);
    });
    const active = stored
      .filter(({ status }) => status === "active")
      .map(({ _id, sellerKey }) => ({ id: _id, wallet: sellerKey }));
    assert.deepEqual(found, active.sort((left, right) => (left.id < right.id ? 1 : -1)).slice(0, MOST));
    assert.isNotEmpty(reads);
    for (const { documents, sorts } of reads) assert.deepEqual([documents, sorts], [0, false]);
  });

  const parse = (query: Query) => listListingsQuery.parse({ limit: String(LIMIT), ...query });

  /** The total cost of reading the ranges of a page. */
  async function planOf(query: Query) {
    const parsed = parse(query);
    const prices = await priceRanges(
      parsed,
      parsed.currency === undefined ? CURRENCIES : [parsed.currency],
      etherPrice,
    );
    const ranges = listingRanges(CALLER, parsed, prices, parsed.cursor);
    const sum = { ranges: ranges.length, returned: 0, documents: 0, keys: 0 };
    for (const { filter, order } of ranges) {
      const explained = await listings.find(filter).sort(order).limit(LIMIT).explain("executionStats");
      const { executionStats: stats } = explained as unknown as {
        executionStats: { nReturned: number; totalDocsExamined: number; totalKeysExamined: number };
      };
      sum.returned += stats.nReturned;
      sum.documents += stats.totalDocsExamined;
      sum.keys += stats.totalKeysExamined;
    }
    return sum;
  }

  /** The expected list, computed from every record. */
  function expected(query: Query): string[] {
    const { category, network, sellerId, currency, deliveryType, status, minPrice, maxPrice, sort = "newest" } = query;
    const usd = ({ currency: unit, price }: ListingRecord) =>
      unit === "POL" ? undefined : new BigNumber(price.toString()).times(unit === "ETH" ? ETHER_USD : 1);
    const isPriced = (record: ListingRecord) => {
      if (minPrice === undefined && maxPrice === undefined) return true;
      const value = usd(record);
      return value !== undefined && value.gte(minPrice ?? 0) && value.lte(maxPrice ?? Infinity);
    };
    const sign = sort === "newest" || sort === "price_desc" ? -1 : 1;
    return stored
      .filter((record) => {
        const isOwn = record.sellerAgentId === CALLER.agentId;
        const isSeen = status === undefined ? record.status === "active" || sellerId === CALLER.agentId : isOwn;
        const wanted = { category, network, sellerAgentId: sellerId, currency, deliveryType };
        return (
          isSeen &&
          (status === undefined || record.status === status) &&
          isPriced(record) &&
          Object.entries(wanted).every(
            ([field, value]) => value === undefined || record[field as keyof ListingRecord] === value,
          )
        );
      })
      .sort((left, right) => {
        const byPrice = Number(left.price) - Number(right.price);
        return sign * ((sort.startsWith("price") ? byPrice : 0) || (left._id < right._id ? -1 : 1));
      })
      .map(({ _id }) => _id);
  }

  /** Every id of a list, page by page. */
  async function paged(query: Query, limit: number): Promise<string[]> {
    const ids: string[] = [];
    let cursor: Query = {};
    for (;;) {
      const page = await listListings(CALLER, parse({ ...query, ...cursor, limit: String(limit) }), deps());
      ids.push(...page.listings.map(({ id }) => id));
      if (page.next === null) return ids;
      cursor = { cursor: encodeCursor(page.next) };
    }
  }

  const facets: Query[] = [
    ...[{}, { category: "pkm" }, { network: "base" }, { currency: "ETH" }, { currency: "POL" }],
    ...[{ deliveryType: "async" }, { category: "accounting", network: "base", deliveryType: "webhook" }],
    ...[
      { sellerId: "agt_busy" },
      { sellerId: "agt_busy", status: "paused" },
      { sellerId: "agt_busy", category: "pkm" },
    ],
    ...[{ sellerId: "agt_busy", currency: "ETH" }, { sellerId: "agt_busy", network: "base" }, { status: "paused" }],
  ];
  const nameOf = (query: Query) => `?${new URLSearchParams(query).toString()}`;

  for (const facet of facets) {
    it(`[D23] ${nameOf(facet)} reads little more than a page shows in every order, on the first page and on a later one`, async () => {
      for (const sort of SORTS) {
        const query = { ...facet, sort };
        const all = expected(query);
        const middle = await listListings(
          CALLER,
          parse({ ...query, limit: String(Math.min(95, all.length - 1)) }),
          deps(),
        );
        assert.isNotNull(middle.next);
        const cursors: Query[] = [{}, { cursor: encodeCursor(middle.next) }];
        for (const cursor of cursors) {
          const plan = await planOf({ ...query, ...cursor });
          assert.isAbove(plan.returned, 0, sort);
          assert.isAtMost(plan.documents, plan.returned + plan.ranges * 2 * LIMIT, sort);
          assert.isAtMost(plan.keys, plan.returned + plan.ranges * 2 * RANGES, sort);
        }
      }
    });
  }

  const priced: Query[] = [{}, { category: "pkm" }, { sellerId: "agt_busy" }, { deliveryType: "async" }];
  for (const facet of priced) {
    const few: Query = { ...facet, minPrice: "100", maxPrice: "140" };
    it(`[D23] ${nameOf(few)}, which few match, reads only these in every order`, async () => {
      for (const sort of SORTS) {
        const plan = await planOf({ ...few, sort });
        assert.strictEqual(plan.documents, plan.returned, sort);
        const matching = expected(few).length;
        assert.isAtMost(plan.keys, matching + plan.ranges * 2 * RANGES, sort);
      }
    });

    const many: Query = { ...facet, minPrice: "1", maxPrice: "5000" };
    it(`[D23] ${nameOf(many)}, which most match, reads little more than a page shows in every order`, async () => {
      for (const sort of SORTS) {
        const plan = await planOf({ ...many, sort });
        assert.isAtLeast(plan.returned, LIMIT);
        assert.strictEqual(plan.documents, plan.returned, sort);
        // The newest sixth is more expensive than the filter allows: a list by age reads its index entries, not its
        // documents.
        assert.isAtMost(
          plan.keys,
          (sort === "newest" ? STORED / 6 : 0) + plan.returned + plan.ranges * 2 * RANGES,
          sort,
        );
      }
    });
  }

  it("[D23] pages are the whole list in every order, with prices compared in US dollars and without POL", async () => {
    const queries: Query[] = [
      ...[{ currency: "ETH" }, { currency: "POL", maxPrice: "100000000" }, { category: "pkm", minPrice: "1" }],
      ...[
        { network: "base", minPrice: "2", maxPrice: "3000" },
        { deliveryType: "async", maxPrice: "2500" },
      ],
      ...[{ sellerId: "agt_busy", currency: "ETH", minPrice: "2500", maxPrice: "10000000" }, { maxPrice: "0.99" }],
    ];
    for (const query of queries) {
      for (const sort of SORTS) {
        const all = expected({ ...query, sort });
        assert.deepEqual(await paged({ ...query, sort }, 17), all, nameOf({ ...query, sort }));
        if (query["currency"] === "POL" || query["maxPrice"] === "0.99") assert.deepEqual(all, []);
        else assert.isAbove(all.length, 17);
      }
    }
  });
});
