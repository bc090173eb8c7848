// docs/operating/scaling.md proposes a shard key for every collection. MongoDB accepts one only if it begins every unique index,
// and a hashed one only without any.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { createIndexes } from "../../../api/db/connection.ts";
import { paymentModel } from "../../../api/features/fees/payment-model.ts";
import { Outbox, OUTBOX_DEFAULTS } from "../../../api/features/outbox/outbox.ts";
import { createWebhookHealth } from "../../../api/features/webhooks/registrations/health.ts";
import { webhookModel } from "../../../api/features/webhooks/registrations/model.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { memoryOf } from "../../fixtures/memory.ts";
import { profileOf } from "../../fixtures/profile.ts";

/** Collections that no model declares: those of the job queue. */
const OF_THE_QUEUE = ["jobs", "agenda_logs"];

const page = readFileSync("docs/operating/scaling.md", "utf8");

function between(start: string, end: string): string {
  const [, rest] = page.split(start);
  const [part] = rest?.split(end) ?? [];
  assert.ok(rest !== undefined && part !== undefined, `docs/operating/scaling.md has "${start}" and "${end}"`);
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

interface ProfiledWrite {
  ns: string;
  op: string;
  command: {
    /** Of an update. */
    q?: Record<string, unknown>;
    upsert?: boolean;
    findAndModify?: string;
    findandmodify?: string;
    query?: Record<string, unknown>;
  };
}

/** The upserts and findAndModify commands of some work. */
async function writesOf(connection: Connection, work: () => Promise<void>) {
  const profile = await profileOf<ProfiledWrite>(connection, { op: { $in: ["update", "command"] } }, work);
  return profile.flatMap(({ ns, op, command }) => {
    const isModify = command.findAndModify !== undefined || command.findandmodify !== undefined;
    if (!isModify && !(op === "update" && command.upsert === true)) return [];
    const collection = ns.slice(ns.indexOf(".") + 1);
    return [{ collection, filter: (isModify ? command.query : command.q) ?? {} }];
  });
}

describe("the shard keys of docs/operating/scaling.md", () => {
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

  it("are in the filters of writes that may create a document, or that return the one they have changed", async () => {
    const keys = new Map(proposedKeys().map(({ collection, fields }) => [collection, fields]));
    const writes = await writesOf(connection, async () => {
      const agent = await api.registerAgent();
      const memory = memoryOf(api, agent);
      await memory.write("plan", 1);
      await memory.write("plan", 2);
      await memory.renew("plan");
      await memory.remove("plan");
      const call = (method: string, path: string, body?: object) =>
        api.request(method, `/api/v1/webhooks${path}`, { key: agent.apiKey, ...(body === undefined ? {} : { body }) });
      const webhook = { url: "https://agent.example/hook", events: ["escrow.funded"] };
      const { webhookId } = (await call("POST", "", webhook)).body.data;
      await call("PATCH", `/${webhookId}`, { events: ["escrow.released"] });
      await call("POST", `/${webhookId}/ping`);
      const outbox = new Outbox(api.container.features.outbox.models, OUTBOX_DEFAULTS);
      const { dispatches } = await outbox.take(agent.agentId, "turn", 10);
      assert.lengthOf(dispatches, 1);
      const failed = { statusCode: 500, error: null, latencyMs: 1, answer: null };
      for (const dispatch of dispatches) await outbox.finish(dispatch, { outcome: "refused", ...failed });
      const { connection: db, features } = api.container;
      const health = { connection: db, webhooks: webhookModel(db), recorder: features.events.recorder };
      await createWebhookHealth({ ...health, now: () => new Date() }).report(agent.agentId, webhookId, false);
      await call("DELETE", `/${webhookId}`);
    });
    const sharded = writes.filter(({ collection }) => keys.has(collection));
    for (const { collection, filter } of sharded) {
      assert.includeMembers(Object.keys(filter), keys.get(collection) ?? [], collection);
    }
    const seen = sharded.map(({ collection }) => collection);
    assert.includeMembers(seen, ["memory_entries", "memory_totals", "webhooks", "outbox_dispatches"]);
  });
});
