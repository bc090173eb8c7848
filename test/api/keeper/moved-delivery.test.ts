// A delivery without a payload that a reorganisation removes, and the one that the seller makes in its place.
import { assert } from "chai";

import { createChainProgress } from "../../../api/features/chain-follower/progress.ts";
import { createDeliveries } from "../../../api/features/keeper/deliveries.ts";
import { bytes32, created, followerBench, moved } from "../../fixtures/follower.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";

/** The payload's time and the margin of the announcement are over. */
const OVERDUE_SECONDS = 71;

describe("a delivery without a payload that a reorganisation removes", () => {
  const bench = followerBench();

  const deliveries = () => {
    const { connection, transactions, recorder, models, now } = bench;
    const progress = createChainProgress(models);
    return createDeliveries({ network: "base-sepolia", connection, transactions, recorder, progress, now });
  };
  /** Tells the buyer of the delivery that is on chain, once its payload is overdue. */
  const tell = async (record: TransactionRecord) => {
    const { escrow } = await bench.read(record);
    const overdueAt = (escrow?.deliveredAt ?? 0) + OVERDUE_SECONDS;
    bench.clock = new Date(overdueAt * 1_000);
    assert.strictEqual(await deliveries().notifyOverdue(overdueAt), 1);
  };
  /** A deal whose delivery is left to its parties and then removed from the chain, with its follower. */
  async function removed() {
    const record = await bench.checkout();
    const follower = bench.follower();
    bench.indexer.mine([created(record)]);
    bench.indexer.mine([delivery(record)]);
    await follower.step();
    await tell(record);
    const { escrow, buyerNotifiedAt } = await bench.read(record);
    assert.strictEqual(buyerNotifiedAt, escrow?.deliveredAt);
    bench.indexer.rollBackTo(1);
    bench.indexer.mine();
    bench.indexer.mine();
    return { record, follower };
  }
  const delivery = (record: TransactionRecord) => moved(record, "DeliverySubmitted", { proofHash: bytes32() });
  const logged = async (type: string) => (await bench.eventLog()).filter((event) => event.type === type);

  it("[D37] has its delivery.overdue withdrawn too, and the next delivery gets one of its own", async () => {
    const { record, follower } = await removed();
    await follower.step();
    const after = await bench.read(record);
    assert.deepEqual([after.status, after.buyerNotifiedAt], ["funded", undefined]);
    const [submitted] = await logged("delivery.submitted");
    const [overdue] = await logged("delivery.overdue");
    const [reorged] = await logged("escrow.reorged");
    const { withdrawnEventIds } = JSON.parse(reorged?.bodyJson ?? "{}") as { withdrawnEventIds: string[] };
    assert.sameMembers(withdrawnEventIds, [submitted?.eventId, overdue?.eventId]);

    bench.indexer.mine([delivery(record)]);
    await follower.step();
    await tell(record);
    const [one, other, ...more] = await logged("delivery.overdue");
    assert.deepEqual([one?.eventId, more], [overdue?.eventId, []]);
    assert.notStrictEqual(other?.eventId, one?.eventId);
  });

  it("[D26] can be finalized in its new place if the payload came in time for that", async () => {
    const { record, follower } = await removed();
    bench.indexer.mine([delivery(record)]);
    await follower.step();
    const { escrow, buyerNotifiedAt } = await bench.read(record);
    assert.strictEqual(buyerNotifiedAt, undefined);
    const deliveredAt = escrow?.deliveredAt ?? 0;
    await bench.transactions.updateOne(
      { _id: record._id },
      { payloadReceivedAt: new Date(deliveredAt * 1_000), responsePayloadJson: "{}" },
    );
    const found = await Array.fromAsync(deliveries().finalizable((escrow?.windowEnd ?? 0) + 1));
    assert.deepEqual(
      found.flatMap(({ escrowIds }) => escrowIds),
      [record.escrowId],
    );
  });
});
