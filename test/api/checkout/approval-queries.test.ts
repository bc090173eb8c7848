// What approvals make the database read: no more than what is asked for, however many are stored.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { createApprovals } from "../../../api/features/approvals/approvals.ts";
import { approvalModel, liveApprovals } from "../../../api/features/mandates/approval-model.ts";
import type { ApprovalModel, ApprovalRecord } from "../../../api/features/mandates/approval-model.ts";
import { mandateModel } from "../../../api/features/mandates/model.ts";
import { systemClock } from "../../../api/lib/clock.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { readsOf } from "../../fixtures/profile.ts";

const STORED = 3_000;
const [AGENTS, KEYS] = [3, 10];
const LIMIT = 5;
const HOUR_MS = 3_600_000;

describe("approvals in the database", () => {
  let connection: Connection;
  let records: ApprovalModel;
  const hashOf = (n: number) => `0x${n.toString(16).padStart(64, "0")}` as const;

  before(async () => {
    const log = createLogger({ level: "silent", name: "test" });
    const { mongodbUri } = await readStack();
    connection = await connectDatabase(mongodbUri, log, `test_approvals_${randomBytes(6).toString("hex")}`);
    records = approvalModel(connection);
    await createIndexes(connection);
    const now = Date.now();
    await records.insertMany(
      Array.from({ length: STORED }, (_, n): ApprovalRecord => ({
        _id: `apr_${String(n).padStart(32, "0")}`,
        agentId: `agt_${n % AGENTS}`,
        keyId: `key_${n % KEYS}`,
        network: "base-sepolia",
        requestHash: hashOf(n % 100),
        requestJson: "{}",
        serviceTitle: "Token risk report",
        sellerAddress: `0x${"cd".repeat(20)}`,
        bound: "perDealUsd",
        askedUsd: "2500000",
        // Only the newest of each request is alive.
        ...(n >= STORED - 300 ? { status: "open", live: true } : { status: "replaced" }),
        maxUsd: null,
        transactionId: null,
        createdAt: new Date(now),
        expiresAt: new Date(now + HOUR_MS),
        decidedAt: null,
        deleteAt: new Date(now + HOUR_MS),
      })),
    );
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  const reads = (work: () => Promise<unknown>) => readsOf(connection, records.collection.collectionName, work);

  it("are listed page by page, those of an agent and those of a key", async () => {
    const approvals = createApprovals({
      connection,
      approvals: records,
      mandates: mandateModel(connection),
      recorder: { record: () => Promise.reject(new Error("nothing is recorded")) },
      clock: systemClock,
      hosts: [],
    });
    const caller = { agentId: "agt_1", walletAddress: "0x0", keyId: "key_1" } as const;
    for (const scopes of [undefined, ["buy"] as const]) {
      const found = await reads(() =>
        approvals.list({ ...caller, ...(scopes && { scopes }) }, { after: undefined, limit: LIMIT }),
      );
      assert.isNotEmpty(found);
      for (const { documents, sorts } of found) {
        assert.isAtMost(documents, LIMIT + 1);
        assert.isFalse(sorts);
      }
    }
  });

  it("are found by their request, and counted for their key, without those that are over", async () => {
    const [agentId, keyId] = ["agt_1", "key_1"];
    const [live] = await records.find({ agentId, keyId, live: true }).lean();
    assert.ok(live);
    const alive = await records.countDocuments(liveApprovals({ agentId, keyId }, new Date()));
    assert.isAbove(alive, 1);
    const { requestHash } = live;
    const byRequest = await reads(() => records.findOne({ agentId, keyId, requestHash, live: true }).lean());
    const counted = await reads(() => records.countDocuments(liveApprovals({ agentId, keyId }, new Date())));
    assert.deepEqual(
      byRequest.map(({ documents }) => documents),
      [1],
    );
    assert.deepEqual(
      counted.map(({ documents }) => documents),
      [alive],
    );
  });
});
