import { assert } from "chai";

import { BATCH_MOVES } from "../../../api/features/chain-follower/batches.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { startTestApi } from "../../fixtures/api.ts";
import { FakeIndexer } from "../../fixtures/fake-indexer.ts";
import { created, followerBench, foreignMoves, killed, START } from "../../fixtures/follower.ts";

/** graph-node's maximum per query. */
const PAGE = 1_000;
const ORDINALS_PER_BLOCK = 1_000_000n;

describe("the follower of the chain, far behind", () => {
  const bench = followerBench();

  /** Mines blocks full of others' escrows, each with the funding of one of our checkouts in the middle. */
  async function mineBlocks(count: number, size = 400): Promise<TransactionRecord[]> {
    const records = await bench.checkouts(count);
    for (const record of records) {
      bench.indexer.mine([...foreignMoves(size / 2), created(record), ...foreignMoves(size / 2 - 1)]);
    }
    return records;
  }

  const fundedOf = (records: TransactionRecord[]) =>
    bench.transactions.countDocuments({ _id: { $in: records.map(({ _id }) => _id) }, status: "funded" });

  it("reads pages of at most a thousand events, and applies each before it reads the next", async () => {
    const records = await mineBlocks(10);
    const pages: { ordinal: bigint; first: number; headNumber: number | undefined }[] = [];
    bench.indexer.beforePage = async (ordinal, first) => {
      const headNumber = (await bench.cursor())?.headNumber;
      pages.push({ ordinal, first, headNumber });
      const passed = records.slice(0, Math.max(0, Number(ordinal / ORDINALS_PER_BLOCK) - 1));
      assert.strictEqual(await fundedOf(passed), passed.length, "everything before the page is applied");
    };
    await bench.follower().step();
    assert.strictEqual(pages.length, 10 * 0.4 + 1);
    assert.ok(pages.every(({ first }) => first === PAGE));
    for (const [index, page] of pages.slice(1).entries()) {
      const before = pages[index];
      assert.ok(before !== undefined && page.ordinal > before.ordinal);
      assert.ok((page.headNumber ?? -1) > (before.headNumber ?? -1), "the cursor has passed the page before");
    }
    assert.strictEqual(await fundedOf(records), 10);
    assert.strictEqual((await bench.cursor())?.headNumber, bench.indexer.height);
    const log = await bench.eventLog();
    assert.deepEqual(
      log.map(({ transactionId }) => transactionId),
      records.map(({ _id }) => _id),
    );
  });

  it("continues where it was killed between two pages, and announces nothing twice", async () => {
    const records = await mineBlocks(10);
    let pages = 0;
    bench.indexer.beforePage = () => {
      pages += 1;
      if (pages > 3) throw killed();
    };
    await assert.isRejected(bench.follower().step(), /killed/);
    const stored = await bench.cursor();
    // Three pages end in the middle of the eighth block.
    assert.strictEqual(stored?.headNumber, 7);
    assert.strictEqual((await bench.eventLog()).length, 7);

    const asked: bigint[] = [];
    bench.indexer.beforePage = (ordinal) => {
      asked.push(ordinal);
    };
    await bench.follower().step();
    assert.strictEqual(asked[0], BigInt(stored?.anchor?.ordinal ?? 0), "from the last event read on");
    assert.strictEqual(await fundedOf(records), 10);
    assert.strictEqual((await bench.eventLog()).length, 10);
    assert.strictEqual((await bench.cursor())?.headNumber, bench.indexer.height);
  });

  it("also continues within a page when it was killed between two of its database transactions", async () => {
    const records = await bench.checkouts(3 * BATCH_MOVES);
    bench.indexer.mine(records.map((record) => created(record)));
    let batches = 0;
    const recorder: typeof bench.recorder = {
      ...bench.recorder,
      async record(announcements, session) {
        batches += 1;
        if (batches === 3) throw killed();
        await bench.recorder.record(announcements, session);
      },
    };
    await assert.isRejected(bench.follower({ recorder }).step(), /killed/);
    assert.strictEqual((await bench.eventLog()).length, 2 * BATCH_MOVES);
    assert.strictEqual((await bench.cursor())?.headNumber, 0, "the cursor hasn't passed a half-applied block");
    await bench.follower().step();
    assert.strictEqual((await bench.eventLog()).length, records.length);
    assert.strictEqual(await fundedOf(records), records.length);
  });

  it("reports that there is more until the last page", async () => {
    await mineBlocks(6);
    const steps: boolean[] = [];
    const onStep = ({ hasMore }: { hasMore: boolean }) => {
      steps.push(hasMore);
      return Promise.resolve();
    };
    await bench.follower({ onStep }).step();
    assert.deepEqual(steps, [true, true, false]);
  });

  it("[D37] recognises a move that a page lacks and a later page has as mined again", async () => {
    const [record] = await mineBlocks(1, 2);
    assert.ok(record !== undefined);
    const one = bench.follower();
    await one.step();
    bench.indexer.rollBackTo(0);
    for (let n = 0; n < 4; n += 1) bench.indexer.mine(foreignMoves(400));
    bench.indexer.mine([created(record)]);
    await one.step();
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
    const stored = await bench.read(record);
    assert.deepEqual([stored.status, stored.escrow?.moves[0]?.blockNumber], ["funded", 5]);
    assert.strictEqual((await bench.models.applied.findOne({ escrowId: record.escrowId }).lean())?.blockNumber, 5);
  });

  it("[D37] withdraws what is gone from the chain even if its page ended in the middle of the block", async () => {
    const records = await mineBlocks(3, 2);
    const one = bench.follower();
    await one.step();
    bench.indexer.rollBackTo(1);
    for (let n = 0; n < 4; n += 1) bench.indexer.mine(foreignMoves(600));
    await one.step();
    const stored = await Promise.all(records.map((record) => bench.read(record)));
    assert.deepEqual(
      stored.map(({ status }) => status),
      ["funded", "pending_funding", "pending_funding"],
    );
    assert.strictEqual((await bench.eventTypes()).filter((type) => type === "escrow.reorged").length, 2);
  });

  it("[D37] notices a reorganisation between two pages, below what it has already read", async () => {
    const records = await mineBlocks(6);
    const lost = records[0];
    assert.ok(lost !== undefined);
    let pages = 0;
    bench.indexer.beforePage = () => {
      pages += 1;
      if (pages !== 2) return;
      // The first page, with the funding of `lost`, is applied. Now its block is mined again without that funding.
      bench.indexer.rollBackTo(0);
      for (const record of records.slice(1)) bench.indexer.mine([...foreignMoves(399), created(record)]);
      for (let n = 0; n < 30; n += 1) bench.indexer.mine();
    };
    const one = bench.follower();
    await one.step();
    await one.step();
    assert.strictEqual((await bench.read(lost)).status, "pending_funding");
    assert.strictEqual(await fundedOf(records), 5);
    assert.deepEqual((await bench.eventTypes()).filter((type) => type === "escrow.reorged").length, 1);
  });

  it("[D37] also notices it when another process takes over", async () => {
    const records = await mineBlocks(6);
    const lost = records[0];
    assert.ok(lost !== undefined);
    let pages = 0;
    bench.indexer.beforePage = () => {
      pages += 1;
      if (pages === 2) {
        bench.indexer.rollBackTo(0);
        for (const record of records.slice(1)) bench.indexer.mine([...foreignMoves(399), created(record)]);
        for (let n = 0; n < 30; n += 1) bench.indexer.mine(foreignMoves(100));
      }
      if (pages === 5) throw killed();
    };
    await assert.isRejected(bench.follower().step(), /killed/);
    await bench.follower().step();
    assert.strictEqual((await bench.read(lost)).status, "pending_funding");
    assert.strictEqual(await fundedOf(records), 5);
  });

  it("treats a subgraph that falls back between two pages as behind", async () => {
    const records = await mineBlocks(6);
    bench.chainHeight = 6;
    let pages = 0;
    bench.indexer.beforePage = () => {
      pages += 1;
      if (pages === 2) bench.indexer.rollBackTo(1);
    };
    const one = bench.follower();
    await one.step();
    await one.step();
    assert.ok((await bench.eventTypes()).every((type) => type === "escrow.funded"));
    assert.ok((await fundedOf(records)) >= 2, "what was applied stays");
  });

  it("[D15] doesn't expire a checkout whose funding may be on an unread page", async () => {
    const indexer = new FakeIndexer(START);
    const api = await startTestApi({
      indexers: { "base-sepolia": indexer, base: new FakeIndexer(START) },
      timings: { expiryEveryMs: 0 },
    });
    try {
      const { transactions, chainFollower } = api.container.features;
      const record = { ...(await bench.checkout()), network: "base-sepolia" as const };
      const unfunded = { ...(await bench.checkout()), network: "base-sepolia" as const };
      await transactions.models.transactions.create([record, unfunded]);
      for (let n = 0; n < 4; n += 1) indexer.mine(foreignMoves(600));
      indexer.mine([created(record)]);
      indexer.mine([], 10_000);
      const seen: (string | undefined)[] = [];
      indexer.beforePage = async () => {
        seen.push((await transactions.models.transactions.findById(record._id).lean())?.status);
      };
      await chainFollower.followers["base-sepolia"].step();
      assert.deepEqual(seen, ["pending_funding", "pending_funding", "pending_funding"]);
      assert.strictEqual((await transactions.models.transactions.findById(record._id).lean())?.status, "funded");
      assert.strictEqual((await transactions.models.transactions.findById(unfunded._id).lean())?.status, "expired");
    } finally {
      await api.close();
    }
  });
});
