// What the lists of transactions make the database read: little more than they answer, with any filter and
// regardless of what else is stored.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { behindParty, byCopy } from "../../../api/features/transactions/list-reader.ts";
import type { ListFilter } from "../../../api/features/transactions/list-reader.ts";
import { TRANSACTION_STATUSES, transactionModel } from "../../../api/features/transactions/model.ts";
import type { TransactionModel } from "../../../api/features/transactions/model.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";

const STORED = 5_000;
/** One in this many transactions was funded, one is on the other network, and one is for the rare service. */
const RARE = 100;
const FLOOD_BLOCK = 1_000;
const TOLD_BLOCK = 2_000;
const LIMIT = 5;
/** Entries that merging the ranges of every network and status may cost: the first of each, and its lookup. */
const RANGES = 2 * 2 * TRANSACTION_STATUSES.length;

describe("lists of transactions in the database", () => {
  let connection: Connection;
  let model: TransactionModel;
  const idOf = (n: number) => `txn_${String(n).padStart(32, "0")}`;
  const isFunded = (n: number) => n % RARE === 0;

  before(async () => {
    const { mongodbUri } = await readStack();
    const log = createLogger({ level: "silent", name: "test" });
    connection = await connectDatabase(mongodbUri, log, `test_queries_${randomBytes(6).toString("hex")}`);
    model = transactionModel(connection);
    await createIndexes(connection);
    // Many unfunded checkouts, with one deal in a hundred between them.
    const records = Array.from({ length: STORED }, (_, n) => ({
      _id: idOf(n),
      buyerAgentId: "agt_buyer",
      sellerAgentId: "agt_seller",
      escrowId: `0x${n}`,
      unsolicited: false,
      network: n % RARE === 1 || n % (10 * RARE) === 0 ? "base" : "base-sepolia",
      serviceId: n % RARE === 2 || n % (10 * RARE) === 0 ? "lst_rare" : "lst_flooded",
      status: isFunded(n) ? (n % (2 * RARE) === 0 ? "funded" : "released") : "pending_funding",
      minBlock: isFunded(n) && n < 3 * RARE ? TOLD_BLOCK : FLOOD_BLOCK,
    }));
    // Another seller's service must not be scanned for somebody else.
    const foreign = records.map((record) => ({
      ...record,
      _id: record._id.replace("txn_0", "txn_1"),
      buyerAgentId: "agt_other",
      sellerAgentId: "agt_foreign",
      escrowId: `${record.escrowId}f`,
    }));
    await model.collection.insertMany([...records, ...foreign] as never[]);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  async function planOf(query: object, limit = LIMIT) {
    const explained = await model.find(query).sort({ _id: -1 }).limit(limit).explain("executionStats");
    const { executionStats } = explained as unknown as {
      executionStats: { nReturned: number; totalDocsExamined: number; totalKeysExamined: number };
    };
    return {
      returned: executionStats.nReturned,
      documents: executionStats.totalDocsExamined,
      keys: executionStats.totalKeysExamined,
    };
  }

  const filters: Omit<ListFilter, "limit">[] = [
    ...[{}, { network: "base" }, { serviceId: "lst_rare" }, { serviceId: "lst_flooded" }, { status: "funded" }],
    ...[{ status: "pending_funding" }, { network: "base", status: "funded" }],
    ...[
      { serviceId: "lst_rare", status: "funded" },
      { serviceId: "lst_flooded", status: "released" },
    ],
    ...[
      { serviceId: "lst_rare", network: "base" },
      { serviceId: "lst_rare", network: "base", status: "funded" },
    ],
  ] as const;

  for (const filter of filters) {
    const name = Object.entries(filter)
      .map(([key, value]) => `${key}=${value}`)
      .join("&");
    it(`[D15] ?${name} reads little more than a page shows for either party, on the first page and on a later one`, async () => {
      for (const [agent, role] of [
        ["agt_buyer", "buyer"],
        ["agt_seller", "seller"],
      ] as const) {
        for (const after of [undefined, idOf(STORED / 2)]) {
          const [query, ...more] = byCopy(agent, { ...filter, role, limit: LIMIT, after });
          assert.ok(query !== undefined && more.length === 0);
          const { returned, documents, keys } = await planOf(query);
          assert.equal(documents, returned);
          assert.ok(keys <= returned + RANGES, `${keys} entries were looked at for ${returned}`);
          assert.equal(returned > 0, role === "buyer" || filter.status !== "pending_funding");
        }
      }
    });
  }

  it("[D15] a seller's list for somebody else's service reads nothing", async () => {
    const [query] = byCopy("agt_other", { role: "seller", serviceId: "lst_flooded", limit: LIMIT });
    assert.ok(query !== undefined);
    const plan = await planOf(query);
    assert.deepEqual([plan.returned, plan.documents], [0, 0]);
    assert.ok(plan.keys <= RANGES, `${plan.keys} entries`);
  });

  for (const role of ["buyer", "seller", undefined] as const) {
    it(`[D41] finds what a ${role ?? "party"} has reported and no copy has yet, without reading the rest`, async () => {
      const reached = new Map([
        ["base" as const, TOLD_BLOCK - 1],
        ["base-sepolia" as const, TOLD_BLOCK - 1],
      ]);
      const plan = await planOf(behindParty("agt_seller", { role, limit: LIMIT }, reached));
      const expected = role === "buyer" ? 0 : 3;
      assert.deepEqual([plan.returned, plan.documents], [expected, expected]);
      assert.ok(plan.keys <= expected + RANGES, `${plan.keys} entries`);
    });
  }
});
