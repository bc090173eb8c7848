// The writer of a search index, with a source of its own: a collection of numbers that becomes a table of vectors.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { createIndexes } from "../../../api/db/connection.ts";
import { openLanceTables } from "../../../api/search/engine/lance-tables.ts";
import { INDEXED_FROM } from "../../../api/search/engine/lance-writes.ts";
import type { SearchTable, SearchTables } from "../../../api/search/engine/search-table.ts";
import { watchFrom } from "../../../api/search/index/change-batches.ts";
import type { IndexSource } from "../../../api/search/index/index-source.ts";
import { indexStateModel } from "../../../api/search/index/index-state.ts";
import { IndexWriter } from "../../../api/search/index/index-writer.ts";
import { createTableUpkeep } from "../../../api/search/index/table-upkeep.ts";
import { listingFormat } from "../../../api/features/discovery/listing-format.ts";
import { Lease, leaseModel } from "../../../api/jobs/lease.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { openEncoderBench } from "../../fixtures/embedding-encoders.ts";
import type { EncoderBench } from "../../fixtures/embedding-encoders.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { until } from "../../fixtures/until.ts";
import { listingOf } from "../../fixtures/stored-listings.ts";

const NAME = "numbers";
const DIMENSIONS = 16;
const LEASE_MS = 10_000;

interface NumberRecord {
  _id: number;
}

describe("the writer of a growing search index", () => {
  let bench: EncoderBench;
  let connection: Connection;
  let dir: string;
  let tables: SearchTables;
  let stopping: (() => Promise<void>)[];
  const lines: string[] = [];

  beforeEach(async () => {
    bench = await openEncoderBench();
    ({ connection } = bench);
    await createIndexes(connection);
    await connection.createCollection(NAME);
    dir = await mkdtemp(join(tmpdir(), "marketplace-index-"));
    tables = openLanceTables(dir);
    stopping = [];
    lines.length = 0;
  });
  afterEach(async () => {
    await Promise.all(stopping.map((stop) => stop()));
    await bench.close();
    await rm(dir, { recursive: true, force: true });
  });

  const numbers = () => connection.collection<NumberRecord>(NAME);
  const states = () => indexStateModel(connection);
  const state = () => states().findById(NAME).lean();
  const random = seededRandom();
  const storedOf = (n: number) => ({
    document: listingOf(n, { id: `lst_${n}` }),
    revision: 1,
    vector: Float32Array.from({ length: DIMENSIONS }, () => random() - 0.5),
  });

  function source(loaded = 0): IndexSource<NumberRecord> {
    return {
      name: NAME,
      format: listingFormat,
      connection,
      watch: (from) => watchFrom<NumberRecord>(numbers(), from),
      async load({ table }, beforeWrite) {
        await beforeWrite();
        await table.add(
          listingFormat,
          Array.from({ length: loaded }, (_, n) => storedOf(n)),
        );
        return loaded;
      },
      async apply(changes, { table }) {
        const put = changes.flatMap((change) => ("documentKey" in change ? [storedOf(change.documentKey._id)] : []));
        await table.apply(listingFormat, put, []);
      },
    };
  }

  const leases = () => leaseModel(connection);

  /** Runs a writer as a worker does. */
  function startWriter(
    owner: string,
    from: IndexSource<NumberRecord>,
    its: SearchTables = tables,
    now = () => new Date(),
  ): void {
    const log = createLogger({ level: "info", name: owner, destination: { write: (line) => void lines.push(line) } });
    const writer = new IndexWriter({
      loop: owner,
      source: from,
      states: states(),
      tables: its,
      now,
      log,
      lease: new Lease({ leases: leases(), name: `${NAME}-index`, owner, ttlMs: LEASE_MS }),
      encoder: { model: "test", dimensions: DIMENSIONS },
    });
    const ending = new AbortController();
    const ended = writer.run(ending.signal);
    stopping.push(async () => {
      ending.abort();
      await ended;
    });
  }

  it("indexes the vectors of a table that is written all the time", async () => {
    startWriter("a", source(INDEXED_FROM - 1));
    await until("the table answers", async () => (await state()) !== null);
    let next = INDEXED_FROM;
    // Every batch is large enough for the table to be tidied after it.
    await until("its vectors are indexed", async () => {
      await numbers().insertMany(Array.from({ length: 600 }, () => ({ _id: next++ })));
      return ((await state())?.indexedVectors ?? 0) > 0;
    });
    assert.isEmpty(lines.filter((line) => line.includes("couldn't index")));
  });

  it("a table that took long to build has what was written meanwhile before it answers", async () => {
    written = 0;
    let passedMs = 0;
    const { promise: mayApply, resolve: apply } = Promise.withResolvers<undefined>();
    stopping.push(() => {
      apply(undefined);
      return Promise.resolve();
    });
    const slow = source(10);
    let applied = 0;
    startWriter(
      "a",
      {
        ...slow,
        async load(target, beforeWrite) {
          const count = await slow.load(target, beforeWrite);
          await numbers().insertMany(Array.from({ length: 5 }, (_, n) => ({ _id: 100 + n })));
          passedMs = 6_000;
          return count;
        },
        async apply(changes, target) {
          applied += changes.length;
          await mayApply;
          await slow.apply(changes, target);
        },
      },
      tables,
      () => new Date(Date.now() + passedMs),
    );
    await until("the changes are being written", () => Promise.resolve(applied > 0));
    assert.isNull(await state());
    apply(undefined);
    const { table } = await until("the table answers", async () => (await state()) ?? undefined);
    assert.strictEqual(await (await tables.open(table)).count(), 15);
  });

  /** Tables whose tidying, but for the one after loading, is something else. */
  function tidiedBy(tidy: (table: SearchTable) => Promise<void>): SearchTables {
    return {
      ...tables,
      async create(...args) {
        const table = await tables.create(...args);
        let isLoaded = false;
        return {
          ...table,
          async tidy() {
            if (isLoaded) await tidy(table);
            else await table.tidy();
            isLoaded = true;
          },
        };
      },
    };
  }

  let written = 0;
  /** Writes so many documents at once, and waits until the index has them. */
  async function writeAndFollow(count: number): Promise<void> {
    await numbers().insertMany(Array.from({ length: count }, () => ({ _id: written++ })));
    const { table } = (await state()) ?? {};
    assert.ok(table !== undefined);
    const opened = await tables.open(table);
    await until(`it has ${written} documents`, async () => {
      await opened.refresh();
      return (await opened.count()) === written;
    });
  }

  it("follows the changes while a table is tidied, which it does once at a time", async () => {
    written = 0;
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<undefined>();
    // Also if the test fails before.
    stopping.push(() => {
      end(undefined);
      return Promise.resolve();
    });
    let tidied = 0;
    const held = tidiedBy(async (table) => {
      tidied += 1;
      await mayEnd;
      await table.tidy();
    });
    startWriter("a", source(), held);
    await until("the table answers", async () => (await state()) !== null);
    await writeAndFollow(600);
    await until("it is being tidied", () => Promise.resolve(tidied === 1));
    await writeAndFollow(600);
    await writeAndFollow(600);
    assert.strictEqual(tidied, 1);
    end(undefined);
    await until("it is tidied again", async () => {
      await writeAndFollow(600);
      return tidied > 1;
    });
  });

  it("goes on when a table can't be tidied, and tries it again", async () => {
    written = 0;
    let tidied = 0;
    const failing = tidiedBy(async (table) => {
      tidied += 1;
      if (tidied === 1) throw new Error("Files have been merged by another");
      await table.tidy();
    });
    startWriter("a", source(), failing);
    await until("the table answers", async () => (await state()) !== null);
    await until("it is tidied", async () => {
      await writeAndFollow(600);
      return tidied > 1;
    });
    assert.lengthOf(
      lines.filter((line) => line.includes("couldn't tidy the search index")),
      1,
    );
  });

  it("tidies a small table as soon as nothing changes", async () => {
    written = 0;
    let tidied = 0;
    const counting = tidiedBy(async (table) => {
      tidied += 1;
      await table.tidy();
    });
    startWriter("a", source(), counting);
    await until("the table answers", async () => (await state()) !== null);
    await writeAndFollow(1);
    await until("it is tidied", () => Promise.resolve(tidied === 1));
    await writeAndFollow(1);
    await until("it is tidied again", () => Promise.resolve(tidied === 2));
  });

  it("lets writes wait for tidying once they were in its way, until there are none for a moment", async () => {
    const endings: PromiseWithResolvers<undefined>[] = [];
    const table = {
      tidy() {
        const ending = Promise.withResolvers<undefined>();
        endings.push(ending);
        return ending.promise;
      },
      count: () => Promise.resolve(100_000),
    } as unknown as SearchTable;
    const log = createLogger({ level: "info", name: "a", destination: { write: (line) => void lines.push(line) } });
    let elapsedMs = 0;
    const target = { name: "busy", table };
    const upkeep = createTableUpkeep({ index: NAME, target, states: states(), log, elapsedMs: () => elapsedMs });
    const isWaitedFor = async (documents: number) => {
      let isOver = false;
      const written = upkeep.afterWrite(documents).then(() => (isOver = true));
      await new Promise(setImmediate);
      const isWaiting = !isOver;
      endings.at(-1)?.resolve(undefined);
      await written;
      await upkeep.tidied();
      return isWaiting;
    };
    await upkeep.afterWrite(600);
    endings[0]?.reject(new Error("This Rewrite transaction was preempted by concurrent transaction Update"));
    await upkeep.tidied();
    // The next write, however small, lets it be tidied; further ones do once there are enough of them.
    assert.isTrue(await isWaitedFor(1));
    assert.isFalse(await isWaitedFor(1));
    assert.lengthOf(endings, 2);
    assert.isTrue(await isWaitedFor(600));
    await upkeep.afterWrite(0);
    assert.isFalse(await isWaitedFor(600));
    assert.lengthOf(endings, 4);
    // It rests for four times as long as it took.
    await upkeep.afterWrite(600);
    elapsedMs += 1_000;
    endings.at(-1)?.resolve(undefined);
    await upkeep.tidied();
    elapsedMs += 3_999;
    await upkeep.afterWrite(600);
    assert.lengthOf(endings, 5);
    elapsedMs += 1;
    await upkeep.afterWrite(600);
    assert.lengthOf(endings, 6);
    endings.at(-1)?.resolve(undefined);
    await upkeep.tidied();
  });

  it("rests after indexing vectors for twenty times as long as that took, and tidies meanwhile", async () => {
    const calls = { tidy: 0, indexVectors: 0 };
    let elapsedMs = 0;
    const table = {
      vectorsToIndex: () => Promise.resolve(INDEXED_FROM),
      indexVectors() {
        calls.indexVectors += 1;
        elapsedMs += 1_000;
        return Promise.resolve();
      },
      tidy() {
        calls.tidy += 1;
        return Promise.resolve();
      },
    } as unknown as SearchTable;
    const log = createLogger({ level: "info", name: "a", destination: { write: (line) => void lines.push(line) } });
    const upkeep = createTableUpkeep({
      index: NAME,
      target: { name: "worn", table },
      states: states(),
      log,
      elapsedMs: () => elapsedMs,
    });
    const untilIndexed = (times: number) =>
      until(`${times} indexed`, () =>
        Promise.resolve(lines.filter((line) => line.includes("indexed")).length === times),
      );
    upkeep.indexVectors();
    await untilIndexed(1);
    elapsedMs += 19_999;
    upkeep.indexVectors();
    // Nothing else is begun while vectors are indexed.
    await upkeep.afterWrite(600);
    await upkeep.tidied();
    assert.deepEqual(calls, { tidy: 1, indexVectors: 1 });
    elapsedMs += 1;
    upkeep.indexVectors();
    await untilIndexed(2);
    assert.deepEqual(calls, { tidy: 1, indexVectors: 2 });
  });

  /** Tables that are held before they can be published: after all their documents have been written. */
  function heldTables() {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    let isHeld = false;
    const held: SearchTables = {
      ...tables,
      async create(...args) {
        const table = await tables.create(...args);
        return {
          ...table,
          async vectorsToIndex(...asked) {
            const vectors = await table.vectorsToIndex(...asked);
            isHeld = true;
            await promise;
            return vectors;
          },
        };
      },
    };
    const untilHeld = () => until("the table is complete", () => Promise.resolve(isHeld));
    return {
      held,
      untilHeld,
      release: () => {
        resolve(undefined);
      },
    };
  }

  it("a writer that was paused past its lease doesn't publish its table over another writer's", async () => {
    const { held, untilHeld, release } = heldTables();
    startWriter("a", source(10), held);
    await untilHeld();
    const [abandoned] = await tables.names();
    // As if the process hadn't run until its lease ended.
    await leases().updateOne({ _id: `${NAME}-index` }, { owner: "b" });
    startWriter("b", source(20));
    const published = await until("the other one's table answers", async () => (await state())?.table);
    await until("the first one's is dropped", async () => !(await tables.names()).includes(abandoned ?? ""));
    release();
    await until("the first one has noticed", () =>
      Promise.resolve(lines.some((line) => line.includes('"name":"a"') && line.includes("taken over"))),
    );
    assert.strictEqual((await state())?.table, published);
  });

  it("a writer doesn't publish a table that another has dropped", async () => {
    const { held, untilHeld, release } = heldTables();
    startWriter("a", source(10), held);
    await untilHeld();
    const [dropped] = await tables.names();
    await tables.drop(dropped ?? "");
    release();
    const { table } = await until("a table answers", async () => (await state()) ?? undefined);
    assert.notStrictEqual(table, dropped);
    assert.strictEqual(await (await tables.open(table)).count(), 10);
  });

  it("a writer doesn't publish its table over one that is newer than its build, even with the lease", async () => {
    const { held, untilHeld, release } = heldTables();
    startWriter("a", source(10), held);
    await untilHeld();
    const table = `${NAME}_newer`;
    await tables.create(table, listingFormat, DIMENSIONS);
    const { operationTime } = await connection.getClient().db("admin").command({ ping: 1 });
    await states().create({
      _id: NAME,
      table,
      format: listingFormat.version,
      model: "test",
      resume: { operationTime },
      indexedVectors: 0,
      followedAt: new Date(),
    });
    release();
    await until("its own is dropped", async () => (await tables.names()).length === 1);
    assert.strictEqual((await state())?.table, table);
  });
});
