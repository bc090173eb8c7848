import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { behindParty, byCopy } from "../../../api/features/transactions/list-reader.ts";
import { transactionModel } from "../../../api/features/transactions/model.ts";
import type { TransactionModel } from "../../../api/features/transactions/model.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";

const SETTLED = 500;
const OPEN = 3;
const MIN_BLOCK = 1_000;

describe("the collection of transactions", () => {
  let connection: Connection;
  let model: TransactionModel;

  before(async () => {
    const { mongodbUri } = await readStack();
    const log = createLogger({ level: "silent", name: "test" });
    connection = await connectDatabase(mongodbUri, log, `test_queries_${randomBytes(6).toString("hex")}`);
    model = transactionModel(connection);
    await createIndexes(connection);
    const records = Array.from({ length: SETTLED + OPEN }, (_, n) => ({
      _id: `txn_${String(n).padStart(32, "0")}`,
      ...{
        buyerAgentId: "agt_buyer",
        sellerAgentId: "agt_seller",
        network: "base",
        escrowId: `0x${n}`,
        unsolicited: false,
      },
      status: n < OPEN ? "funded" : "released",
      minBlock: MIN_BLOCK + (n < OPEN ? SETTLED : n - OPEN),
    }));
    await model.collection.insertMany(records as never[]);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  async function examined(query: object): Promise<{ returned: number; examined: number }> {
    const plan = await model.find(query).sort({ _id: -1 }).limit(21).explain("executionStats");
    const { executionStats } = plan as unknown as {
      executionStats: { nReturned: number; totalDocsExamined: number };
    };
    return { returned: executionStats.nReturned, examined: executionStats.totalDocsExamined };
  }

  it("finds a seller's open jobs without looking at those that have ended", async () => {
    const query = byCopy("agt_seller", { role: "seller", status: "funded", limit: 20 });
    assert.deepEqual(await examined(query), { returned: OPEN, examined: OPEN });
  });

  it("finds what of a buyer's is open without looking at what has ended", async () => {
    const query = byCopy("agt_buyer", { role: "buyer", status: "funded", limit: 20 });
    assert.deepEqual(await examined(query), { returned: OPEN, examined: OPEN });
  });

  for (const role of ["buyer", "seller", undefined] as const) {
    it(`finds what a ${role ?? "party"} told of and no copy has yet without looking at the rest`, async () => {
      const reached = new Map([["base" as const, MIN_BLOCK + SETTLED - 1]]);
      const query = behindParty("agt_seller", { role, limit: 20 }, reached);
      const expected = role === "buyer" ? 0 : OPEN;
      assert.deepEqual(await examined(query), { returned: expected, examined: expected });
    });
  }
});
