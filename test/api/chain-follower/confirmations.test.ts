// Moves that are announced only once further blocks follow theirs (decision 37).
import { assert } from "chai";

import { Outbox, OUTBOX_DEFAULTS } from "../../../api/features/outbox/outbox.ts";
import { outboxModels } from "../../../api/features/outbox/model.ts";
import { BUYER, bytes32, created, foreignMoves, followerBench, moved, SELLER } from "../../fixtures/follower.ts";
import { REFUSED } from "../../fixtures/outbox.ts";

const CONFIRMATIONS = 2;

describe("a follower that waits for confirmations", () => {
  const bench = followerBench();
  const follower = () => bench.follower({ confirmations: CONFIRMATIONS });
  const mineEmpty = (count: number) => {
    for (let block = 0; block < count; block += 1) bench.indexer.mine();
  };

  it("[D37] announces a move once enough blocks follow it, and not before", async () => {
    const record = await bench.checkout();
    const one = follower();
    bench.indexer.mine([created(record)]);
    for (let following = 0; following < CONFIRMATIONS; following += 1) {
      await one.step();
      assert.deepEqual([await bench.eventTypes(), (await bench.read(record)).status], [[], "pending_funding"]);
      bench.indexer.mine();
    }
    await one.step();
    assert.deepEqual([await bench.eventTypes(), (await bench.read(record)).status], [["escrow.funded"], "funded"]);
    await follower().step();
    assert.lengthOf(await bench.eventLog(), 1);
  });

  it("applies the part of a page that is deep enough, and the copy has nothing of the rest", async () => {
    const record = await bench.checkout();
    const one = follower();
    bench.indexer.mine([created(record)]);
    mineEmpty(1);
    bench.indexer.mine([moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
    await one.step();
    const { status, escrow } = await bench.read(record);
    assert.deepEqual([await bench.eventTypes(), status, escrow?.moves.length], [["escrow.funded"], "funded", 1]);
    assert.strictEqual((await bench.cursor())?.headNumber, bench.indexer.height - CONFIRMATIONS);
    mineEmpty(CONFIRMATIONS);
    await one.step();
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded", "delivery.submitted"]);
  });

  it("[D37] says nothing of a move that a reorganisation removes before that", async () => {
    const record = await bench.checkout();
    const one = follower();
    mineEmpty(3);
    await one.step();
    bench.indexer.mine([created(record)]);
    mineEmpty(1);
    await one.step();
    bench.indexer.rollBackTo(3);
    mineEmpty(CONFIRMATIONS + 2);
    await one.step();
    assert.deepEqual(await bench.eventTypes(), []);
    bench.indexer.mine([created(record)]);
    mineEmpty(CONFIRMATIONS);
    await one.step();
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
  });

  it("[D37] reports a move that it announced and a deeper reorganisation removed", async () => {
    const record = await bench.checkout();
    const one = follower();
    mineEmpty(1);
    bench.indexer.mine([created(record)]);
    mineEmpty(CONFIRMATIONS);
    await one.step();
    bench.indexer.rollBackTo(1);
    mineEmpty(CONFIRMATIONS + 2);
    await one.step();
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded", "escrow.reorged"]);
    assert.strictEqual((await bench.read(record)).status, "pending_funding");
  });

  it("[D37] sends nothing more of a funding that it withdrew: no retry and no backup", async () => {
    const record = await bench.checkout();
    const one = follower();
    mineEmpty(1);
    bench.indexer.mine([created(record)]);
    mineEmpty(CONFIRMATIONS);
    await one.step();
    // The bench's clock isn't the database's, by which dispatches are due.
    await bench.dispatches.updateMany({ kind: "immediate" }, { dueAt: new Date(1) });
    const outbox = new Outbox(outboxModels(bench.connection), { ...OUTBOX_DEFAULTS, backupDelayMs: 0 });
    const {
      dispatches: [running],
    } = await outbox.take("agt_seller", "turn", 10);
    assert.ok(running !== undefined);
    await outbox.scheduleBackup(running);
    const durable = { ...running, _id: "dlv_durable", durable: true, holder: null, attempts: [], waits: 0 };
    await bench.dispatches.create(durable);
    bench.indexer.rollBackTo(1);
    mineEmpty(CONFIRMATIONS + 2);
    await one.step();
    await outbox.finish(running, REFUSED);
    const ofFunding = await bench.dispatches.find({ eventType: "escrow.funded", agentId: "agt_seller" }).lean();
    assert.sameDeepMembers(
      ofFunding.map(({ kind, status, dueAt, ...dispatch }) => [kind, dispatch.durable, status, dueAt === null]),
      [
        ["immediate", false, "dropped", true],
        ["backup", false, "dropped", true],
        ["immediate", true, "pending", false],
      ],
    );
    const told = await bench.dispatches.find({ eventType: "escrow.reorged" }).lean();
    assert.isNotEmpty(told);
    assert.ok(told.every(({ status }) => status === "pending"));
  });

  it("[D37] withdraws nothing that was mined again, even before it has its confirmations there", async () => {
    const [kept, gone] = [await bench.checkout(), await bench.checkout()];
    const one = follower();
    mineEmpty(1);
    bench.indexer.mine([created(kept), created(gone)]);
    mineEmpty(CONFIRMATIONS);
    await one.step();
    bench.indexer.rollBackTo(1);
    mineEmpty(4);
    bench.indexer.mine([created(kept)]);
    await one.step();
    await one.step();
    const reorged = async () => (await bench.eventLog()).filter(({ type }) => type === "escrow.reorged");
    assert.deepEqual(
      (await reorged()).map(({ transactionId }) => transactionId),
      [gone._id],
    );
    assert.strictEqual((await bench.read(kept)).status, "funded");
    mineEmpty(CONFIRMATIONS);
    await one.step();
    assert.lengthOf(await reorged(), 1);
    assert.deepEqual((await bench.eventTypes()).toSorted(), ["escrow.funded", "escrow.funded", "escrow.reorged"]);
    assert.isNull((await bench.cursor())?.forkOrdinal);
    assert.strictEqual((await bench.read(kept)).escrow?.moves[0]?.blockNumber, 6);
  });

  it("[D37] withdraws nothing that was mined again behind a full page of moves that wait", async () => {
    const record = await bench.checkout();
    const one = follower();
    mineEmpty(1);
    bench.indexer.mine([created(record)]);
    mineEmpty(CONFIRMATIONS);
    await one.step();
    bench.indexer.rollBackTo(1);
    mineEmpty(CONFIRMATIONS + 2);
    bench.indexer.mine([...foreignMoves(1_000), created(record)]);
    await one.step();
    mineEmpty(CONFIRMATIONS);
    await one.step();
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
    assert.strictEqual((await bench.read(record)).escrow?.moves[0]?.blockNumber, bench.indexer.height - CONFIRMATIONS);
  });

  it("reads on through full pages, whose last events wait", async () => {
    const record = await bench.checkout();
    bench.indexer.mine(foreignMoves(999));
    bench.indexer.mine([created(record), ...foreignMoves(999)]);
    mineEmpty(1);
    const one = follower();
    await one.step();
    assert.deepEqual([await bench.eventTypes(), await bench.models.applied.countDocuments()], [[], 999]);
    mineEmpty(1);
    await one.step();
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
    assert.strictEqual(await bench.models.applied.countDocuments(), 1_999);
  });

  it("keeps an escrow in quarantine while one of its moves waits", async () => {
    const record = await bench.checkout();
    const one = follower();
    bench.indexer.setReadable(record.escrowId, false);
    bench.indexer.mine([created(record)]);
    mineEmpty(CONFIRMATIONS);
    await one.step();
    bench.indexer.setReadable(record.escrowId, true);
    bench.clock = new Date(bench.clock.getTime() + 3_600_000);
    bench.indexer.mine([moved(record, "EscrowRefunded")]);
    await one.step();
    assert.deepEqual([await bench.eventTypes(), await bench.models.quarantine.countDocuments()], [[], 1]);
    mineEmpty(CONFIRMATIONS);
    await one.step();
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded", "escrow.refunded"]);
    assert.strictEqual(await bench.models.quarantine.countDocuments(), 0);
  });

  it("[D16] counts as applied only the time before the first move that waits", async () => {
    const one = follower();
    bench.indexer.mine([], 100);
    bench.indexer.mine([{ type: "EscrowCreated", escrowId: bytes32(), buyer: BUYER, seller: SELLER }], 100);
    bench.indexer.mine([], 100);
    const waiting = await one.step();
    assert.strictEqual(waiting.appliedTime, (waiting.head.timestamp ?? 0) - 100);
    mineEmpty(1);
    const done = await one.step();
    assert.strictEqual(done.appliedTime, done.head.timestamp);
  });
});
