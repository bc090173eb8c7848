// What is remembered of a table's rows, and a search whose rows move while it runs.
import type { Table } from "@lancedb/lancedb";
import { assert } from "chai";

import type { Listing } from "../../../api/features/listings/listing.ts";
import { knownRows } from "../../../api/features/search/engine/known-rows.ts";
import type { KnownRows } from "../../../api/features/search/engine/known-rows.ts";
import { openLanceTables } from "../../../api/features/search/engine/lance-tables.ts";
import { searchTable } from "../../../api/features/search/engine/lance-search.ts";
import { listingFormat } from "../../../api/features/search/listing-format.ts";
import { openEngineTable } from "../../fixtures/engine-table.ts";
import { LISTING_TABLE, openListingTable } from "../../fixtures/listing-table.ts";

const VECTOR = new Float32Array([0.6, 0.8]);
const QUERY = { text: "zebra", encoding: { vector: VECTOR, knownWordShare: 1 } };

const listingOf = (n: number, title = "Zebra"): Listing => ({
  ...{ id: `lst_${n}`, sellerAgentId: "agt_1", sellerAddress: "0x0000000000000000000000000000000000000001" },
  ...{ title, description: "Text", category: "other", price: "1", priceUnit: "flat", currency: "USDC" },
  ...{ deliveryType: "webhook", callbackRequired: false, endpointUrl: null, network: "base", status: "active" },
  ...{ createdAt: new Date(0), updatedAt: new Date(0) },
});
const storedOf = (document: Listing, revision = 1) => ({ document, revision, vector: VECTOR });

describe("the known rows of a table", () => {
  let index: Awaited<ReturnType<typeof openListingTable>>;
  let engine: Table;
  /** How many rows each read has asked the engine for. */
  let reads: number[];
  /** Row ids in the order of the listings. */
  let ids: bigint[];

  beforeEach(async () => {
    index = await openListingTable(
      [1, 2, 3].map((n) => storedOf(listingOf(n))),
      2,
    );
    engine = await openEngineTable(index.dir, LISTING_TABLE);
    const found = (await engine.query().select(["id"]).withRowId().toArray()) as { id: string; _rowid: bigint }[];
    ids = found.sort((left, right) => left.id.localeCompare(right.id)).map(({ _rowid }) => _rowid);
    reads = [];
    const take = engine.takeRowIds.bind(engine);
    engine.takeRowIds = (wanted) => {
      reads.push(wanted.length);
      return take(wanted);
    };
  });
  afterEach(() => index.close());

  /** The titles that a search finds, with what is known of the rows. */
  const titlesFrom = async (rows: KnownRows) =>
    (await searchTable({ table: engine, rows }, listingFormat, QUERY, {}, 10)).map(({ document }) => document.title);
  const titles = async () => (await index.search(QUERY, {}, 10)).map(({ document }) => document.title).sort();

  it("reads each row once, and parses it once", async () => {
    const rows = knownRows(engine);
    const first = await rows.read(listingFormat, ids.slice(0, 2));
    const second = await rows.read(listingFormat, ids);
    assert.deepEqual(reads, [2, 1]);
    assert.sameMembers([...second.keys()], ids);
    const [id = 0n] = ids;
    assert.deepEqual(second.get(id)?.document(), listingOf(1));
    assert.strictEqual(second.get(id)?.document(), first.get(id)?.document());
    assert.include(second.get(id)?.words() ?? "", " zebra ");
    assert.deepEqual(second.get(id)?.vector, VECTOR);
    // A part of what the engine returned would keep all of it in memory.
    assert.strictEqual(second.get(id)?.vector?.buffer.byteLength, VECTOR.byteLength);
    await rows.read(listingFormat, ids);
    assert.deepEqual(reads, [2, 1], "nothing is left to read");
  });

  it("forgets what nobody has asked for the longest", async () => {
    const [first = 0n, second = 0n, third = 0n] = ids;
    const text = listingFormat.serialize(listingOf(1));
    // Room for two rows and a half.
    const rows = knownRows(engine, 2.5 * (text.length * 4 + VECTOR.byteLength + 500));
    await rows.read(listingFormat, [first, second]);
    await rows.read(listingFormat, [first]);
    await rows.read(listingFormat, [third]);
    assert.deepEqual(reads, [2, 1]);
    await rows.read(listingFormat, [first, third]);
    assert.deepEqual(reads, [2, 1], "the second one made room");
    await rows.read(listingFormat, [second]);
    assert.deepEqual(reads, [2, 1, 1]);
  });

  it("a search finds documents as they are, whoever has changed, removed or moved them", async () => {
    assert.deepEqual(await titles(), ["Zebra", "Zebra", "Zebra"]);
    const other = await openLanceTables(index.dir).open(LISTING_TABLE);
    await other.apply(listingFormat, [storedOf(listingOf(1, "Changed"), 2)], [{ id: "lst_2", revision: 1 }]);
    await index.table.refresh();
    assert.deepEqual(await titles(), ["Changed", "Zebra"]);
    await other.tidy();
    await index.table.refresh();
    assert.deepEqual(await titles(), ["Changed", "Zebra"]);
    await other.apply(listingFormat, [storedOf(listingOf(1, "Again"), 3)], []);
    await index.table.refresh();
    assert.deepEqual(await titles(), ["Again", "Zebra"]);
  });

  it("a search starts again if its rows are replaced before it has read them", async () => {
    const known = knownRows(engine);
    let changed: Promise<void> | undefined;
    const rows: KnownRows = {
      async read(format, wanted) {
        changed ??= index.table
          .apply(
            listingFormat,
            [1, 2, 3].map((n) => storedOf(listingOf(n, `Zebra ${n}`), 2)),
            [],
          )
          .then(() => index.table.tidy());
        await changed;
        return await known.read(format, wanted);
      },
    };
    assert.sameMembers(await titlesFrom(rows), ["Zebra 1", "Zebra 2", "Zebra 3"]);
  });

  it("a search answers without a row that is gone each time it is read", async () => {
    const known = knownRows(engine);
    let asked = 0;
    const rows: KnownRows = {
      async read(format, wanted) {
        asked += 1;
        const read = await known.read(format, wanted);
        read.delete(ids[0] ?? 0n);
        return read;
      },
    };
    const found = await searchTable({ table: engine, rows }, listingFormat, QUERY, {}, 10);
    assert.sameMembers(
      found.map(({ document }) => document.id),
      ["lst_2", "lst_3"],
    );
    assert.strictEqual(asked, 6, "three attempts, each by meaning and by words");
  });
});
