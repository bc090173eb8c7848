import { assert } from "chai";

import { BATCH_BYTES } from "../../../api/features/chain-follower/batches.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { bytes32, created, followerBench, foreignMoves, moved } from "../../fixtures/follower.ts";

/** graph-node's maximum number of events per query. */
const PAGE = 1_000;
/** The API's largest request body (decision 33). */
const LARGEST_PAYLOAD_BYTES = 256 * 1024;

describe("the continuity of the follower", () => {
  const bench = followerBench();

  /** Mines one block with the funding of each checkout. */
  async function mineFundings(count: number): Promise<TransactionRecord[]> {
    const records = await bench.checkouts(count);
    for (const record of records) bench.indexer.mine([created(record)]);
    return records;
  }

  const statuses = async (records: TransactionRecord[]) =>
    (await Promise.all(records.map((record) => bench.read(record)))).map(({ status }) => status);

  for (const depth of [301, 1_000]) {
    it(`[D15] [D37] withdraws what a reorganisation of ${depth} blocks removed and keeps what it mined again`, async () => {
      bench.indexer.mine();
      const kept = await mineFundings(3);
      const fork = bench.indexer.height;
      const records = await mineFundings(depth);
      const one = bench.follower();
      await one.step();
      assert.deepEqual(new Set(await statuses(records)), new Set(["funded"]));

      bench.indexer.rollBackTo(fork);
      const again = records.slice(0, 5);
      for (let n = 0; n <= depth; n += 1) {
        const record = again[n];
        bench.indexer.mine(record === undefined ? [] : [created(record)]);
      }
      await one.step();
      assert.deepEqual(new Set(await statuses([...kept, ...again])), new Set(["funded"]));
      assert.deepEqual(new Set(await statuses(records.slice(5))), new Set(["pending_funding"]));
      const types = await bench.eventTypes();
      assert.strictEqual(types.filter((type) => type === "escrow.reorged").length, depth - again.length);
      assert.strictEqual(types.filter((type) => type === "escrow.funded").length, depth + kept.length);
    });
  }

  it("reads every event once even if the head moves between the pages of a catch-up", async () => {
    const records = await mineFundings(3);
    for (let n = 0; n < 10; n += 1) bench.indexer.mine(foreignMoves(PAGE / 2));
    let requested = 0;
    const one = bench.follower();
    const { indexer } = bench;
    indexer.beforePage = () => {
      requested += 1;
      indexer.mine(foreignMoves(1));
    };
    await one.step();
    await one.step();
    // 5,003 events and one more a page; each page after the first repeats the one event that it continues.
    assert.ok(requested <= 7, `${requested} pages were read`);
    assert.deepEqual(new Set(await statuses(records)), new Set(["funded"]));
  });

  it("applies a hundred fundings with the largest request payload in transactions of limited size", async () => {
    const payload = JSON.stringify({ text: "x".repeat(LARGEST_PAYLOAD_BYTES - 20) });
    const records = await bench.checkouts(100, { requestPayloadJson: payload });
    bench.indexer.mine(records.map((record) => created(record)));
    const written: number[] = [];
    const recorder: typeof bench.recorder = {
      ...bench.recorder,
      async record(announcements, session) {
        await bench.recorder.record(announcements, session);
        written.push(announcements.reduce((sum, { body }) => sum + JSON.stringify(body).length, 0));
      },
    };
    await bench.follower({ recorder }).step();
    assert.deepEqual(new Set(await statuses(records)), new Set(["funded"]));
    assert.strictEqual((await bench.eventTypes()).length, 100);
    assert.ok(Math.max(...written) <= BATCH_BYTES, `a transaction announces ${Math.max(...written)} bytes`);
  });

  it("[D37] withdraws a release that was mined while a catch-up was between two pages", async () => {
    const record = await bench.checkout();
    bench.indexer.mine([created(record), moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
    for (let n = 0; n < 3; n += 1) bench.indexer.mine(foreignMoves(PAGE / 2));
    const fork = bench.indexer.height;
    // The first page sees an escrow that is released further up; the second page is read on a branch without it.
    bench.indexer.mine([moved(record, "EscrowReleased")]);
    const { indexer } = bench;
    let pages = 0;
    indexer.beforePage = () => {
      pages += 1;
      if (pages !== 2) return;
      indexer.rollBackTo(fork);
      indexer.mine();
      indexer.mine();
    };
    const one = bench.follower();
    await one.step();
    await one.step();
    const { status, escrow } = await bench.read(record);
    assert.deepEqual([status, escrow?.moves.length], ["delivered", 2]);
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded", "delivery.submitted"]);
  });
});
