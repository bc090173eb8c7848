// What is remembered of a table's rows, and a search whose rows move while it runs.
import type { Table } from "@lancedb/lancedb";
import { assert } from "chai";

import type { Listing } from "../../../api/features/listings/listing.ts";
import { knownRows } from "../../../api/search/engine/known-rows.ts";
import type { KnownRows } from "../../../api/search/engine/known-rows.ts";
import { findRows } from "../../../api/search/engine/lance-rows.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import { searchTable } from "../../../api/search/engine/lance-search.ts";
import { listingFormat } from "../../../api/features/discovery/listing-format.ts";
import { openEngineTable } from "../../fixtures/engine-table.ts";
import { LISTING_TABLE, openListingTable } from "../../fixtures/listing-table.ts";
import { listingOf } from "../../fixtures/stored-listings.ts";

const VECTOR = new Float32Array([0.6, 0.8]);
const QUERY = { text: "zebra", encoding: { vector: VECTOR, knownWordShare: 1 } };

const numbered = (n: number, title = "Zebra") => listingOf(n, { id: `lst_${n}`, title });
const storedOf = (document: Listing, revision = 1) => ({ document, revision, vector: VECTOR });

describe("the known rows of a table", () => {
  let index: Awaited<ReturnType<typeof openListingTable>>;
  let engine: Table;
  /** How many rows each read by ids has asked the engine for. */
  let reads: number[];

  beforeEach(async () => {
    index = await openListingTable(
      [1, 2, 3].map((n) => storedOf(numbered(n))),
      2,
    );
    engine = await openEngineTable(index.dir, LISTING_TABLE);
    reads = [];
    const take = engine.takeRowIds.bind(engine);
    engine.takeRowIds = (wanted) => {
      reads.push(wanted.length);
      return take(wanted);
    };
  });
  afterEach(() => index.close());

  /** Finds listings of these numbers by their words. */
  async function find(rows: KnownRows, ...wanted: number[]) {
    const ids = wanted.map((n) => `'lst_${n}'`).join(", ");
    const query = engine.query().fullTextSearch("zebra", { columns: "words" }).where(`id IN (${ids})`);
    const found = (await findRows(query, "_score", undefined)).map(({ id }) => id);
    const read = await rows.read(listingFormat, found);
    assert.sameMembers([...read.keys()], found);
    return [...read.values()].sort((left, right) => (left.document().id < right.document().id ? -1 : 1));
  }
  const searchWith = async (rows: KnownRows) =>
    (
      await searchTable(
        { table: engine, rows, wholeUpTo: 10 },
        { format: listingFormat, query: QUERY, filter: {}, limit: 10, answers: 10 },
      )
    ).map(({ document }) => document);
  const titles = async () => (await index.search(QUERY, {}, 10)).map(({ document }) => document.title).sort();

  it("reads each row once, and parses it once", async () => {
    const rows = knownRows(engine);
    const [first] = await find(rows, 1, 2);
    const again = await find(rows, 1, 2, 3);
    assert.deepEqual(reads, [2, 1]);
    assert.deepEqual(
      again.map((row) => row.document()),
      [1, 2, 3].map((n) => numbered(n)),
    );
    assert.strictEqual(again[0]?.document(), first?.document());
    assert.include(again[0]?.words() ?? "", " zebra ");
    assert.deepEqual(again[0]?.vector, VECTOR);
    // A part of what the engine returned would keep all of it in memory.
    assert.strictEqual(again[0]?.vector?.buffer.byteLength, VECTOR.byteLength);
    await find(rows, 1, 2, 3);
    assert.deepEqual(reads, [2, 1], "nothing is left to read");
  });

  it("forgets what nobody has found for the longest", async () => {
    const text = listingFormat.serialize(numbered(1));
    // Room for two rows and a half.
    const mostBytes = 2.5 * (text.length * 3 + VECTOR.byteLength + 500);
    const rows = knownRows(engine, mostBytes);
    for (const wanted of [[1, 2], [1], [3], [1, 3]]) await find(rows, ...wanted);
    assert.deepEqual(reads, [2, 1], "the second one made room");
    await find(rows, 2);
    assert.deepEqual(reads, [2, 1, 1]);
  });

  it("a search finds documents as they are after another process has changed, removed and moved them", async () => {
    assert.deepEqual(await titles(), ["Zebra", "Zebra", "Zebra"]);
    const other = await openLanceTables(index.dir).open(LISTING_TABLE);
    await other.apply(listingFormat, [storedOf(numbered(1, "Changed"), 2)], [{ id: "lst_2", revision: 1 }]);
    await index.table.refresh();
    assert.deepEqual(await titles(), ["Changed", "Zebra"]);
    await other.tidy();
    await index.table.refresh();
    assert.deepEqual(await titles(), ["Changed", "Zebra"]);
    await other.apply(listingFormat, [storedOf(numbered(1, "Again"), 3)], []);
    await index.table.refresh();
    assert.deepEqual(await titles(), ["Again", "Zebra"]);
  });

  it("a search starts again if its rows are replaced before it has read them", async () => {
    const take = engine.takeRowIds.bind(engine);
    let replaced: Promise<void> | undefined;
    const replace = async () => {
      const changed = [1, 2, 3].map((n) => storedOf(numbered(n, `Zebra ${n}`), 2));
      await index.table.apply(listingFormat, changed, []);
      await index.table.tidy();
    };
    engine.takeRowIds = (wanted) => {
      const query = take(wanted);
      const read = query.toArrow.bind(query);
      query.toArrow = async (options) => {
        await (replaced ??= replace());
        return await read(options);
      };
      return query;
    };
    const found = await searchWith(knownRows(engine));
    assert.sameMembers(
      found.map(({ title }) => title),
      ["Zebra 1", "Zebra 2", "Zebra 3"],
    );
  });

  it("a search answers without a row that is gone whenever it is read", async () => {
    const take = engine.takeRowIds.bind(engine);
    let gone: bigint | undefined;
    engine.takeRowIds = (wanted) => {
      gone ??= wanted[0] as bigint;
      return take(wanted.filter((id) => id !== gone));
    };
    // Too small to remember anything.
    assert.lengthOf(await searchWith(knownRows(engine, 1)), 2);
    assert.deepEqual(reads, [2, 2, 2], "three attempts");
  });
});
