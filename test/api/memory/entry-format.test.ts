// How memory entries are kept in the search engine, and found in it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { entryFormat } from "../../../api/features/memory/index/entry-format.ts";
import type { EntryFilter, IndexedEntry } from "../../../api/features/memory/index/entry-format.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const ENCODING = { vector: new Float32Array([1, 0]), knownWordShare: 1 };

const entryOf = (agentId: string, key: string, fields: Partial<IndexedEntry> = {}): IndexedEntry => ({
  id: `${agentId}|default|${key}`,
  agentId,
  namespace: "default",
  key,
  tags: [],
  expiresAt: new Date(NOW.getTime() + 1),
  text: "quorblex",
  ...fields,
});
const FILTER: EntryFilter = { agentId: "a", tags: [], now: NOW };

describe("memory entries in the engine", () => {
  let dir: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "marketplace-memory-"));
  });
  after(() => rm(dir, { recursive: true, force: true }));

  let tables = 0;
  async function searcherOf(entries: readonly IndexedEntry[]) {
    tables += 1;
    const table = await openLanceTables(dir).create(`memory_${tables}`, entryFormat, 2);
    const documents = entries.map((document) => ({ document, revision: 1, vector: ENCODING.vector }));
    await table.add(entryFormat, documents);
    return async (filter: Partial<EntryFilter>, limit = 100, isExact = false) => {
      const query = { text: "quorblex", encoding: ENCODING };
      const found = await table.search(entryFormat, query, { ...FILTER, ...filter }, limit, { isExact });
      return found.map(({ document }) => `${document.agentId}/${document.key}`).sort();
    };
  }

  it("[D33] an agent's search sees no entry of others, however many answer better", async () => {
    const others = Array.from({ length: 200 }, (_, n) => entryOf("b", `${n}`));
    const find = await searcherOf([...others, entryOf("a", "own", { text: "a quorblex among many other words" })]);
    for (const isExact of [false, true]) assert.deepEqual(await find({}, 1, isExact), ["a/own"]);
    // Where the engine's condition let one through, the filter itself would drop it.
    assert.isFalse(entryFormat.passes(entryOf("b", "1"), FILTER));
    assert.isTrue(entryFormat.passes(entryOf("a", "1"), FILTER));
  });

  it("filters by life, namespace, all tags and the start of the key, with characters of any kind", async () => {
    const find = await searcherOf([
      entryOf("a", "a'b/1", { tags: ["it's", "y"] }),
      entryOf("a", "a'b/2", { tags: ["y"] }),
      entryOf("a", "a'c", { namespace: "other" }),
      entryOf("a", "a_b%/1", { expiresAt: NOW }),
      entryOf("a", "\u{1F600}/1"),
      entryOf("a", "\u{10FFFF}/1"),
    ]);
    assert.deepEqual(await find({ prefix: "a'b" }), ["a/a'b/1", "a/a'b/2"]);
    assert.deepEqual(await find({ tags: ["it's"] }), ["a/a'b/1"]);
    assert.deepEqual(await find({ tags: ["y", "it's"] }), ["a/a'b/1"]);
    assert.deepEqual(await find({ tags: ["y", "x"] }), []);
    assert.deepEqual(await find({ namespace: "other" }), ["a/a'c"]);
    assert.deepEqual(await find({ namespace: "other' OR '1' = '1" }), []);
    assert.deepEqual(await find({ prefix: "a_" }), []);
    assert.deepEqual(await find({ prefix: "%" }), []);
    assert.deepEqual(await find({ prefix: "\u{1F600}" }), ["a/\u{1F600}/1"]);
    assert.deepEqual(await find({ prefix: "\u{10FFFF}" }), ["a/\u{10FFFF}/1"]);
    assert.lengthOf(await find({}), 5);
  });

  it("keeps an entry whose vector has another length, and finds it by its words", async () => {
    const table = await openLanceTables(dir).create("memory_lengths", entryFormat, 2);
    await table.add(entryFormat, [{ document: entryOf("a", "k"), revision: 1, vector: new Float32Array(3) }]);
    const found = await table.search(entryFormat, { text: "quorblex", encoding: ENCODING }, FILTER, 5);
    assert.deepEqual(
      found.map(({ vector }) => vector),
      [null],
    );
  });
});
