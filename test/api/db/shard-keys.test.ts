// docs/scaling.md proposes a shard key for every collection. MongoDB accepts one only if it begins every unique index,
// and a hashed one only without any.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { createIndexes } from "../../../api/db/connection.ts";
import { paymentModel } from "../../../api/features/fees/payment-model.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";

/** Collections that no model declares: those of the job queue. */
const OF_THE_QUEUE = ["jobs", "agenda_logs"];

const page = readFileSync("docs/scaling.md", "utf8");

function between(start: string, end: string): string {
  const [, rest] = page.split(start);
  const [part] = rest?.split(end) ?? [];
  assert.ok(rest !== undefined && part !== undefined, `docs/scaling.md has "${start}" and "${end}"`);
  return part;
}

const namesIn = (text: string) => Array.from(text.matchAll(/`([a-z0-9_]+)`/g), ([, name]) => name ?? "");

interface ProposedKey {
  collection: string;
  /** In order. */
  fields: string[];
  isHashed: boolean;
}

function proposedKeys(): ProposedKey[] {
  const rows = between("| collections | shard key |", "These stay on one shard").matchAll(
    /^\| (`.*`) \| `\{(.*?)\}`/gm,
  );
  return [...rows].flatMap(([, names = "", key = ""]) => {
    const fields = Array.from(key.matchAll(/(\w+): /g), ([, field]) => field ?? "");
    return namesIn(names).map((collection) => ({ collection, fields, isHashed: key.includes("hashed") }));
  });
}

describe("the shard keys of docs/scaling.md", () => {
  let api: TestApi;
  let connection: Connection;
  before(async () => {
    // A database of its own, because it gets a collection that only a command writes.
    api = await startTestApi({ databaseName: `test_shards_${randomBytes(6).toString("hex")}` });
    ({ connection } = api.container);
    paymentModel(connection);
    await createIndexes(connection);
  });
  after(() => api.close());

  it("place every collection once, on one shard or by a key", () => {
    const kept = namesIn(between("These stay on one shard", "\n## "));
    const placed = [...proposedKeys().map(({ collection }) => collection), ...kept];
    const collections = Object.values(connection.models).map(({ collection }) => collection.collectionName);
    assert.deepEqual(placed.toSorted(), [...collections, ...OF_THE_QUEUE].toSorted());
  });

  it("begin every unique index of their collection, and name its fields", async () => {
    const models = new Map(Object.values(connection.models).map((model) => [model.collection.collectionName, model]));
    const keys = proposedKeys();
    let compared = 0;
    for (const { collection: name, fields, isHashed } of keys) {
      const model = models.get(name);
      assert.ok(model !== undefined, name);
      assert.ok(fields.length > 0, name);
      assert.includeMembers(Object.keys(model.schema.paths), fields, name);
      for (const { key, unique } of await model.collection.indexes()) {
        if (unique !== true) continue;
        compared += 1;
        assert.ok(!isHashed, `${name} has a unique index: ${JSON.stringify(key)}`);
        assert.deepEqual(Object.keys(key).slice(0, fields.length), fields, `${name}: ${JSON.stringify(key)}`);
      }
    }
    assert.ok(compared > 0, "there are unique indexes");
  });
});
