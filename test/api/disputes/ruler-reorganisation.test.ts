import { assert } from "chai";

import { DisputeStore } from "../../../api/features/disputes/dispute-store.ts";
import { disputeIdOf } from "../../../api/features/transactions/dispute-id.ts";
import { created, moved } from "../../fixtures/follower.ts";
import { CRITERIA, EVIDENCE_SECONDS, handedOver, rulerBench } from "../../fixtures/ruler.ts";

describe("the ruler of disputes, with a reorganisation", () => {
  const scene = rulerBench();
  const { bench, step, disputed, read } = scene;

  it("[D26] takes evidence again when a dispute whose judging had begun is opened again", async () => {
    const record = await disputed(handedOver);
    const height = bench.indexer.height - 1;
    await scene.disputes.updateOne({ _id: disputeIdOf(record) }, { $set: { closedAt: bench.now() } });
    bench.indexer.rollBackTo(height);
    bench.indexer.mine();
    bench.indexer.mine([created(record), moved(record, "DeliverySubmitted"), moved(record, "DisputeOpened")]);
    await bench.follower().step();
    const again = await read(record);
    assert.isAbove(again.disputedAt ?? 0, record.escrow?.disputedAt ?? Infinity);
    assert.isNull(again.closedAt);
  });

  it("[D26] rules nothing while the dispute is gone, and begins a new period when it is opened again", async () => {
    const record = await bench.checkout({ criteriaJson: JSON.stringify(CRITERIA), ...handedOver });
    bench.indexer.mine([created(record), moved(record, "DeliverySubmitted")]);
    await bench.follower().step();
    const height = bench.indexer.height;
    bench.indexer.mine([moved(record, "DisputeOpened")]);
    await bench.follower().step();
    const first = await read(record);
    bench.indexer.rollBackTo(height);
    bench.indexer.mine();
    bench.indexer.mine();
    await bench.follower().step();
    const gone = await read(record);
    assert.deepEqual([gone.isOpen, gone.disputedAt, gone.dueAt], [false, null, null]);
    scene.time = (first.disputedAt ?? 0) + EVIDENCE_SECONDS;
    assert.strictEqual(await step(), 0);
    bench.indexer.mine([moved(record, "DisputeOpened")]);
    await bench.follower().step();
    const again = await read(record);
    assert.isTrue(again.isOpen);
    assert.strictEqual(again.evidenceEndsAt.getTime(), ((again.disputedAt ?? 0) + EVIDENCE_SECONDS) * 1_000);
    assert.isAbove(again.disputedAt ?? 0, first.disputedAt ?? Infinity);
    scene.time = (again.disputedAt ?? 0) + EVIDENCE_SECONDS;
    assert.strictEqual(await step(), 1);
  });

  it("isn't undone by a reading of the subgraph that is older than the follower's", async () => {
    const book = new DisputeStore({ disputes: scene.disputes, evidenceSeconds: EVIDENCE_SECONDS, now: bench.now });
    const record = await disputed(handedOver);
    const disputedAt = record.escrow?.disputedAt ?? 0;
    for (const known of [
      { disputedAt, isOpen: false, dueAt: null },
      { disputedAt: null, isOpen: false, dueAt: null },
    ]) {
      await scene.disputes.updateOne({ _id: disputeIdOf(record) }, { $set: known });
      await book.open(record, disputedAt);
      assert.include(await read(record), known);
    }
  });

  it("is opened by whatever shows it first, and stays the same", async () => {
    const book = new DisputeStore({ disputes: scene.disputes, evidenceSeconds: EVIDENCE_SECONDS, now: bench.now });
    const record = await disputed(handedOver);
    const byFollower = await read(record);
    await scene.disputes.deleteOne({ _id: byFollower._id });
    const opened = await Promise.all([1, 2].map(() => book.open(record, record.escrow?.disputedAt ?? 0)));
    const { createdAt, ...rest } = byFollower;
    assert.isTrue(opened.every((one) => one.createdAt.getTime() >= createdAt.getTime()));
    for (const one of opened) assert.deepInclude(one, rest);
  });

  it("[D26] closes a dispute that only an orphaned block had, and rules it when it is mined again", async () => {
    const book = new DisputeStore({ disputes: scene.disputes, evidenceSeconds: EVIDENCE_SECONDS, now: bench.now });
    const record = await bench.checkout({ criteriaJson: JSON.stringify(CRITERIA), ...handedOver });
    bench.indexer.mine([created(record), moved(record, "DeliverySubmitted")]);
    await bench.follower().step();
    const height = bench.indexer.height;
    bench.indexer.mine([moved(record, "DisputeOpened")]);
    const disputedAt = 1_000;
    await book.open({ ...(await bench.read(record)), status: "disputed" }, disputedAt);
    bench.indexer.rollBackTo(height);
    bench.indexer.mine();
    scene.time = disputedAt + EVIDENCE_SECONDS;
    assert.strictEqual(await step(), 1);
    assert.deepInclude(await read(record), { isOpen: false, disputedAt: null, dueAt: null, attempts: 0 });
    assert.strictEqual(await step(), 0);

    bench.indexer.mine([moved(record, "DisputeOpened")]);
    await bench.follower().step();
    scene.time = ((await read(record)).disputedAt ?? Infinity) + EVIDENCE_SECONDS;
    assert.strictEqual(await step(), 1);
    assert.strictEqual((await read(record)).ruling?.outcome, "Split");
  });

  it("[D26] keeps a dispute that the subgraph has and the follower hasn't applied yet", async () => {
    const book = new DisputeStore({ disputes: scene.disputes, evidenceSeconds: EVIDENCE_SECONDS, now: bench.now });
    const record = await bench.checkout({ criteriaJson: JSON.stringify(CRITERIA), ...handedOver });
    bench.indexer.mine([created(record), moved(record, "DeliverySubmitted")]);
    await bench.follower().step();
    bench.indexer.mine([moved(record, "DisputeOpened")]);
    const { escrows } = await bench.indexer.escrows([record.escrowId]);
    const disputedAt = [...escrows.values()][0]?.disputedAt ?? 0;
    await book.open({ ...(await bench.read(record)), status: "disputed" }, disputedAt);
    scene.time = disputedAt + EVIDENCE_SECONDS;
    assert.strictEqual(await step(), 1);
    assert.deepInclude(await read(record), { isOpen: true, disputedAt, attempts: 1 });
    await bench.follower().step();
    scene.time += 3_600;
    assert.strictEqual(await step(), 1);
    assert.strictEqual((await read(record)).ruling?.outcome, "Split");
  });

  it("keeps the ruling of a dispute that is opened again", async () => {
    const record = await disputed(handedOver);
    const height = bench.indexer.height - 1;
    scene.time += EVIDENCE_SECONDS;
    await step();
    const { ruling } = await read(record);
    bench.indexer.rollBackTo(height);
    bench.indexer.mine([created(record), moved(record, "DeliverySubmitted"), moved(record, "DisputeOpened")]);
    bench.indexer.mine();
    await bench.follower().step();
    scene.time += 10 * EVIDENCE_SECONDS;
    assert.strictEqual(await step(), 0);
    assert.deepEqual((await read(record)).ruling, ruling);
  });
});
