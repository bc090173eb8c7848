// The index of memory search: what the worker writes, and what a search reads from the database instead.
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { assert } from "chai";

import { MEMORY_INDEX } from "../../../api/features/memory/index/entry-format.ts";
import { indexStateModel } from "../../../api/search/index/index-state.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import { embedPendingEntries } from "../../fixtures/embed-pending.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { movedClock } from "../../fixtures/limits.ts";
import { openEngineTable } from "../../fixtures/engine-table.ts";
import { memoryOf, untilIndexed } from "../../fixtures/memory.ts";
import type { MemoryCaller } from "../../fixtures/memory.ts";
import { startLoops } from "../../fixtures/loops.ts";
import type { RunningLoops } from "../../fixtures/loops.ts";
import { until } from "../../fixtures/until.ts";

const HOUR = 3_600_000;
const OLD_MODEL = "earlier@1";

describe("the index of memory search", () => {
  const clock = movedClock();
  let api: TestApi;
  let memory: MemoryCaller;
  let writing: RunningLoops | undefined;

  beforeEach(async () => {
    api = await startTestApi({ clock });
    memory = memoryOf(api, await register());
  });
  afterEach(async () => {
    await stopWriting();
    await api.close();
  });

  const register = () => api.registerAgent({ message: { issuedAt: clock.now() } });
  function startWriting(): void {
    writing = startLoops(api, "memory.write-index");
  }
  async function stopWriting(): Promise<void> {
    await writing?.stop();
    writing = undefined;
  }
  const states = () => indexStateModel(api.container.connection);
  const tableName = async () => (await states().findById(MEMORY_INDEX).lean())?.table;
  const untilReplaced = (before: string | undefined) =>
    until("another table answers", async () => {
      const now = await tableName();
      return now !== undefined && now !== before;
    });
  const folder = () => join(api.container.env.searchIndexUrl, api.container.connection.name);
  /** The keys in the table itself, of all agents. */
  async function indexedKeys(): Promise<string[]> {
    const table = await openEngineTable(folder(), (await tableName()) ?? "");
    const rows = (await table.query().select(["key"]).toArray()) as { key: string }[];
    return rows.map(({ key }) => key).sort();
  }
  async function found(query: string, on = memory): Promise<{ key: string; relevance: number }[]> {
    const answer = await on.call("POST", "/search", { body: { query } });
    assert.strictEqual(answer.status, 200, answer.text);
    return answer.body.data;
  }
  const keys = async (query: string) => (await found(query)).map(({ key }) => key).sort();

  it("has what was written before the first worker, and follows writes and deletions", async () => {
    await memory.write("early", "quorblex");
    assert.deepEqual(await keys("quorblex"), ["early"]);
    startWriting();
    await untilIndexed(api, memory.agentId);
    await memory.write("late", "quorblex");
    await memory.remove("early");
    await untilIndexed(api, memory.agentId);
    assert.deepEqual(await indexedKeys(), ["late"]);
    assert.deepEqual(await keys("quorblex"), ["late"]);
  });

  it("a search finds what is written while no worker runs; the next one goes on with the same table", async () => {
    for (const key of ["kept", "changed", "deleted"]) await memory.write(key, "quorblex");
    startWriting();
    await untilIndexed(api, memory.agentId);
    await stopWriting();
    const before = await tableName();
    await memory.write("changed", "The annual financial statement is due");
    await memory.remove("deleted");
    await memory.write("new", "quorblex");
    assert.deepEqual(await keys("quorblex"), ["kept", "new"]);
    startWriting();
    await untilIndexed(api, memory.agentId);
    assert.deepEqual(await keys("quorblex"), ["kept", "new"]);
    assert.deepEqual(await indexedKeys(), ["changed", "kept", "new"]);
    assert.strictEqual(await tableName(), before);
  });

  it("an index whose worker was absent for longer than deletions are remembered is built again", async () => {
    await memory.write("kept", "quorblex");
    await memory.write("deleted", "quorblex");
    startWriting();
    await untilIndexed(api, memory.agentId);
    await stopWriting();
    const before = await tableName();
    await memory.remove("deleted");
    await api.container.features.memory.models.removals.deleteMany({});
    clock.pass(HOUR);
    assert.deepEqual(await keys("quorblex"), ["kept"]);
    startWriting();
    await untilReplaced(before);
    assert.deepEqual(await indexedKeys(), ["kept"]);
    assert.deepEqual(await keys("quorblex"), ["kept"]);
  });

  it("a lost folder costs no search its answer, and the index is built again", async () => {
    await memory.write("k", "quorblex");
    startWriting();
    await untilIndexed(api, memory.agentId);
    const before = await tableName();
    await rm(folder(), { recursive: true });
    assert.deepEqual(await keys("quorblex"), ["k"]);
    await memory.write("next", "quorblex");
    assert.deepEqual(await keys("quorblex"), ["k", "next"]);
    await untilReplaced(before);
    await untilIndexed(api, memory.agentId);
    assert.deepEqual(await indexedKeys(), ["k", "next"]);
    assert.deepEqual(await keys("quorblex"), ["k", "next"]);
  });

  it("what is noted about a replaced table goes with it", async () => {
    await memory.write("k", "quorblex");
    startWriting();
    await untilIndexed(api, memory.agentId);
    const before = (await tableName()) ?? "";
    await stopWriting();
    await states().updateOne({ _id: MEMORY_INDEX }, { format: 0 });
    startWriting();
    await untilReplaced(before);
    const { indexed } = api.container.features.memory.models;
    await until(
      "nothing is noted",
      async () => (await indexed.countDocuments({ _id: new RegExp(`^${before}`) })) === 0,
    );
    await until("the table is dropped", async () => !(await openLanceTables(folder()).names()).includes(before));
    assert.deepEqual(await keys("quorblex"), ["k"]);
  });

  it("an entry that another model embedded is found by its words, and by its meaning once it is embedded again", async () => {
    await memory.write("pet", "A veterinarian treats sick dogs and cats");
    const { connection, features } = api.container;
    const { models } = features.memory;
    const old = { "embedding.model": OLD_MODEL, "embedding.vector": Buffer.alloc(4) };
    await models.entries.updateMany({}, { $set: old });
    startWriting();
    await untilIndexed(api, memory.agentId);
    assert.deepEqual([await keys("veterinarian"), await keys("doctor for animals")], [["pet"], []]);
    const { current: encoder } = features.discovery.encoders;
    await embedPendingEntries({ connection, models, encoder });
    await untilIndexed(api, memory.agentId);
    assert.deepEqual(await keys("doctor for animals"), ["pet"]);
  });

  it("[D33] tells nothing about other agents' entries, also not how often they use a word", async () => {
    const other = memoryOf(api, await register());
    await memory.write("k", "quorblex");
    startWriting();
    await untilIndexed(api, memory.agentId);
    const before = await found("quorblex tuning");
    for (let n = 0; n < 20; n += 1) await other.write(`k${n}`, "quorblex tuning");
    await untilIndexed(api, other.agentId);
    assert.deepEqual(await found("quorblex tuning"), before);
    assert.lengthOf(before, 1);
  });
});
