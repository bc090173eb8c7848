// What the lists of a memory make the database read: no more than a page, regardless of how much is stored.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { memoryModels } from "../../../api/features/memory/model.ts";
import type { EntryRecord } from "../../../api/features/memory/model.ts";
import { MemoryReader } from "../../../api/features/memory/entries/reader.ts";
import type { EntryQuery } from "../../../api/features/memory/entries/reader.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { readsOf } from "../../fixtures/profile.ts";

const STORED = 3_000;
const PAGE = 20;
/** One in so many has the tag. */
const RARE = 10;

describe("lists of a memory in the database", () => {
  let connection: Connection;
  let reader: MemoryReader;
  const keyOf = (n: number) => `${n % 2 === 0 ? "even" : "odd"}/${String(n).padStart(6, "0")}`;

  before(async () => {
    const { mongodbUri } = await readStack();
    const log = createLogger({ level: "silent", name: "test" });
    connection = await connectDatabase(mongodbUri, log, `test_memory_${randomBytes(6).toString("hex")}`);
    const models = memoryModels(connection);
    await createIndexes(connection);
    const now = new Date();
    const numbers = Array.from({ length: STORED }, (_, n) => n);
    const version = { version: 1, valueJson: "1", bytes: 1, writeId: "w", updatedAt: now, createdAt: now };
    const tagsOf = (n: number) => (n % RARE === 0 ? ["rare"] : ["common"]);
    await models.entries.collection.insertMany(
      ["agt_1", "agt_2"].flatMap((agentId) =>
        numbers.map((n): EntryRecord => {
          const [namespace, key] = [n % 3 === 0 ? "notes" : "plans", keyOf(n)];
          return {
            ...version,
            _id: `${agentId}|${namespace}|${key}`,
            agentId,
            namespace,
            key,
            tags: tagsOf(n),
            ttlSeconds: 3_600,
            expiresAt: new Date(now.getTime() + 3_600_000),
            earlierBytes: 0,
            embedding: null,
            change: n,
          };
        }),
      ) as never[],
    );
    await models.audit.collection.insertMany(
      numbers.map((n) => ({
        _id: `agt_1|audit|${keyOf(n)}`,
        agentId: "agt_1",
        key: keyOf(n),
        eventId: `evt_${n}`,
        seq: n,
        valueJson: "1",
        tags: tagsOf(n),
        createdAt: now,
      })) as never[],
    );
    reader = new MemoryReader({ models, now: () => now });
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  const queries: Omit<EntryQuery, "namespace" | "limit">[] = [
    {},
    { prefix: "odd/" },
    { tag: "rare" },
    { tag: "rare", prefix: "even/" },
    { after: keyOf(1_000) },
    { prefix: "even/", after: keyOf(1_000) },
    { tag: "rare", after: keyOf(1_000) },
  ];
  for (const namespace of ["notes", "audit"]) {
    for (const query of queries) {
      it(`[D27] a page of ${namespace} by ${JSON.stringify(query)} reads an index in order`, async () => {
        const collection = namespace === "audit" ? "memory_audit" : "memory_entries";
        const reads = await readsOf(connection, collection, async () => {
          const { items, next } = await reader.list("agt_1", { namespace, limit: PAGE, ...query });
          assert.deepEqual([items.length, next === null], [PAGE, false]);
        });
        assert.lengthOf(reads, 1);
        for (const { returned, documents, keys, sorts } of reads) {
          assert.deepEqual({ returned, documents, sorts }, { returned: PAGE + 1, documents: PAGE + 1, sorts: false });
          assert.isAtMost(keys, PAGE + 2);
        }
      });
    }
  }

  it("[D27] the names of namespaces cost one index entry each", async () => {
    const reads = await readsOf(connection, "memory_entries", async () => {
      assert.deepEqual(await reader.namespaces("agt_1"), ["notes", "plans"]);
    });
    assert.deepEqual(
      reads.map(({ documents, sorts }) => ({ documents, sorts })),
      [1, 1, 0].map((documents) => ({ documents, sorts: false })),
    );
    assert.isAtMost(Math.max(...reads.map(({ keys }) => keys)), 1);
  });
});
