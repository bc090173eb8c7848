import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";

import type { Connection } from "mongoose";

import { connectDatabase, createIndexes } from "../../api/db/connection.ts";
import { transactionModel } from "../../api/features/transactions/model.ts";
import type { TransactionModel } from "../../api/features/transactions/model.ts";
import { createLogger } from "../../api/lib/logger.ts";
import { readStack } from "../fixtures/api.ts";

const SETTLED = 500;
const OPEN = 3;

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
      ...{ sellerAgentId: "agt_seller", network: "base", escrowId: `0x${n}`, unsolicited: false },
      status: n < OPEN ? "funded" : "released",
    }));
    await model.collection.insertMany(records as never[]);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  it("finds a seller's open jobs without looking at those that have ended", async () => {
    const asSeller: Record<string, unknown> = {
      sellerAgentId: "agt_seller",
      status: { $nin: ["pending_funding", "expired"] },
    };
    const plan = await model
      .find({ $and: [{ $or: [asSeller] }, { status: "funded" }] })
      .sort({ _id: -1 })
      .limit(21)
      .explain("executionStats");
    const { executionStats } = plan as unknown as {
      executionStats: { nReturned: number; totalDocsExamined: number };
    };
    assert.deepEqual([executionStats.nReturned, executionStats.totalDocsExamined], [OPEN, OPEN]);
  });
});
