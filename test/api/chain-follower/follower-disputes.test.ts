import { assert } from "chai";

import { BUYER, bytes32, CALLBACK, created, ENDPOINT, followerBench, moved, SELLER } from "../../fixtures/follower.ts";

describe("the follower of the chain", () => {
  const bench = followerBench();
  const bodies = async () => (await bench.eventLog()).map(({ bodyJson }) => JSON.parse(bodyJson));

  /** A delivered deal whose announcements are out. */
  async function deliveredDeal() {
    const record = await bench.checkout({ callbackUrl: CALLBACK });
    bench.indexer.mine([created(record), moved(record, "DeliverySubmitted")]);
    await bench.follower().step();
    return record;
  }

  describe("announces a dispute", () => {
    it("[D37] to both parties, when it is opened and when it is resolved", async () => {
      const record = await deliveredDeal();
      bench.indexer.mine([moved(record, "DisputeOpened")]);
      await bench.follower().step();
      assert.deepEqual(
        [(await bench.read(record)).status, (await bench.eventTypes()).at(-1)],
        ["disputed", "dispute.created"],
      );
      const opened = (await bench.eventLog()).at(-1);
      assert.deepEqual(opened?.recipients.toSorted(), ["agt_buyer", "agt_seller"]);
      const { disputeId, ...body } = (await bodies()).at(-1);
      assert.match(disputeId, /^dsp_[0-9a-f]{32}$/);
      const facts = {
        transactionId: record._id,
        escrowId: record.escrowId,
        serviceId: record.serviceId,
        network: "base-sepolia",
      };
      assert.deepEqual(body, { event: "dispute.created", ...facts, reason: null });

      bench.indexer.mine([moved(record, "EscrowResolved", { outcome: "Split", buyerPercent: 30 })]);
      await bench.follower().step();
      assert.strictEqual((await bench.read(record)).status, "resolved");
      const outcome = { outcome: "Split", buyerPercent: 30, sellerPercent: 70 };
      assert.deepEqual((await bodies()).at(-1), { event: "dispute.resolved", ...facts, disputeId, ...outcome });
      const urls = await bench.dispatches.distinct("url", { eventType: /^dispute/ });
      assert.deepEqual(urls.toSorted(), [CALLBACK, ENDPOINT].toSorted());
    });

    it("[D37] and withdraws it with a reorganisation; opened again, it is the same dispute", async () => {
      const record = await deliveredDeal();
      const height = bench.indexer.height;
      bench.indexer.mine([moved(record, "DisputeOpened")]);
      await bench.follower().step();
      const first = (await bodies()).at(-1);
      bench.indexer.rollBackTo(height);
      bench.indexer.mine();
      bench.indexer.mine();
      await bench.follower().step();
      const withdrawal = (await bodies()).at(-1);
      assert.deepEqual(
        [withdrawal.event, withdrawal.withdrawn, withdrawal.status],
        ["escrow.reorged", "DisputeOpened", "delivered"],
      );
      bench.indexer.mine([moved(record, "DisputeOpened")]);
      await bench.follower().step();
      const again = (await bodies()).at(-1);
      assert.deepEqual([again.event, again.disputeId], ["dispute.created", first.disputeId]);
      const ids = (await bench.eventLog())
        .filter(({ type }) => type === "dispute.created")
        .map(({ eventId }) => eventId);
      assert.strictEqual(new Set(ids).size, 2, "a second announcement is a second event");
    });

    it("[D37] of an escrow without a checkout to a party that registers later, with its outcome", async () => {
      const parties = { escrowId: bytes32(), buyer: BUYER, seller: SELLER };
      bench.indexer.mine([
        { type: "EscrowCreated", ...parties },
        { type: "DeliverySubmitted", ...parties, proofHash: bytes32() },
        { type: "DisputeOpened", ...parties },
        { type: "EscrowResolved", ...parties, outcome: "BuyerRefund", buyerPercent: 100 },
      ]);
      await bench.follower().step();
      await bench.register(BUYER, "agt_late");
      await bench.follower().step();
      const late = (await bench.eventLog()).filter(({ recipients }) => recipients.includes("agt_late"));
      assert.includeMembers(
        late.map(({ type }) => type),
        ["dispute.created", "dispute.resolved"],
      );
      const resolved = JSON.parse(late.find(({ type }) => type === "dispute.resolved")?.bodyJson ?? "{}");
      assert.deepEqual([resolved.outcome, resolved.buyerPercent, resolved.sellerPercent], ["BuyerRefund", 100, 0]);
    });
  });
});
