// How many index entries a list by age with a price filter reads at most, whatever is stored.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { Types } from "mongoose";
import type { Connection } from "mongoose";

import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { listListings } from "../../../api/features/listings/list.ts";
import { listingModel } from "../../../api/features/listings/model.ts";
import type { ListingModel } from "../../../api/features/listings/model.ts";
import { listListingsQuery } from "../../../api/features/listings/schemas.ts";
import { encodeCursor } from "../../../api/http/query-params.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";

/** Half of them match the filter: an index by age leaves out the other half first, an index by price has to sort them. */
const STORED = 36_000;
const CALLER = { agentId: "agt_caller", walletAddress: "0x0", keyId: "key_1" } as const;
/** Three readings of 5,000 entries and the seeks between ranges: looking for many matches, for the end, and the page. */
const KEYS_AT_MOST = 15_200;

type Query = Record<string, string>;

describe("a list by age with a price filter", () => {
  let connection: Connection;
  let listings: ListingModel;

  const idOf = (n: number) => `lst_${String(n).padStart(32, "0")}`;
  before(async () => {
    const { mongodbUri } = await readStack();
    const log = createLogger({ level: "silent", name: "test" });
    connection = await connectDatabase(mongodbUri, log, `test_prices_${randomBytes(6).toString("hex")}`);
    listings = listingModel(connection);
    await createIndexes(connection);
    const stored = Array.from({ length: STORED }, (_, n) => ({
      _id: idOf(n),
      sellerAgentId: "agt_busy",
      sellerAddress: "0x0",
      sellerKey: "0x0",
      title: "Title",
      description: "D",

      category: n % 2 === 0 ? "accounting" : "pkm",
      price: Types.Decimal128.fromString(n < STORED / 2 ? "1" : "9"),
      priceUnit: "flat",
      callbackRequired: false,
      endpointUrl: null,
      revision: 1,
      embedding: null,
      currency: "USDC",
      deliveryType: "webhook",
      network: "base-sepolia",
      status: "active",
      createdAt: new Date(0),
      updatedAt: new Date(0),
    }));
    await listings.collection.insertMany(stored as never[]);
    await connection.db?.command({ profile: 2 });
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  /** A page with the number of index entries that the database read for it. */
  async function pageOf(query: Query) {
    const profile = connection.collection("system.profile");
    const [newest] = await profile.find().sort({ ts: -1 }).limit(1).toArray();
    const since = (newest?.["ts"] as Date | undefined) ?? new Date(0);
    const page = await listListings(CALLER, listListingsQuery.parse(query), {
      listings,
      etherPrice: () => Promise.reject(new Error("no price is needed")),
      search: { find: () => Promise.reject(new Error("nothing is searched")) },
      standings: { of: () => Promise.reject(new Error("nobody is rated")) },
    });
    const read = await profile.find({ ns: `${connection.name}.listings`, ts: { $gt: since } }).toArray();
    return { ...page, keys: read.reduce((sum, entry) => sum + Number(entry["keysExamined"] ?? 0), 0) };
  }

  const halves: Query[] = [
    { sort: "newest", maxPrice: "5" },
    { sort: "oldest", minPrice: "5" },
    { sort: "newest", maxPrice: "5", category: "pkm" },
    { sort: "newest", maxPrice: "5", sellerId: "agt_busy", category: "pkm" },
  ];
  for (const filter of halves) {
    const query = { currency: "USDC", limit: "100", ...filter };
    it(`[D23] ?${new URLSearchParams(filter).toString()} reads a bounded number of index entries for a page, and its pages are the whole list`, async () => {
      const isOfHalf = (n: number) => ("maxPrice" in filter ? n < STORED / 2 : n >= STORED / 2);
      const expected = Array.from({ length: STORED }, (_, n) => n)
        .filter((n) => isOfHalf(n) && (filter["category"] === undefined || n % 2 === 1))
        .map(idOf);
      if (filter["sort"] === "newest") expected.reverse();
      const ids: string[] = [];
      let cursor: Query = {};
      // Pages before the first match, and some after it.
      while (ids.length < 1_000) {
        const page = await pageOf({ ...query, ...cursor });
        assert.isAbove(page.keys, 0);
        assert.isAtMost(page.keys, KEYS_AT_MOST);
        ids.push(...page.listings.map(({ id }) => id));
        assert.isNotNull(page.next);
        cursor = { cursor: encodeCursor(page.next) };
      }
      assert.deepEqual(ids, expected.slice(0, ids.length));
    });
  }
});
