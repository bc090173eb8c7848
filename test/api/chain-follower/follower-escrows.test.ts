import { assert } from "chai";

import { expireQuotes, EXPIRY_MARGIN_SECONDS } from "../../../api/features/transactions/expiry.ts";
import { BUYER, bytes32, created, followerBench, moved, SELLER, START } from "../../fixtures/follower.ts";

describe("the follower of the chain", () => {
  const bench = followerBench();

  describe("treats an escrow", () => {
    it("[D10] without a checkout as unsolicited, announced to a seller who is registered", async () => {
      const escrowId = bytes32();
      const foreign = `0x${"99".repeat(20)}` as const;
      bench.indexer.mine([
        { type: "EscrowCreated", escrowId, buyer: foreign, seller: SELLER },
        { type: "EscrowCreated", escrowId: bytes32(), buyer: SELLER, seller: foreign },
      ]);
      await bench.follower().step();
      const record = await bench.transactions.findOne({ escrowId }).lean();
      assert.deepEqual(
        [record?.unsolicited, record?.escrowId, record?.status, record?.serviceId, record?.buyerAgentId],
        [true, escrowId, "funded", null, null],
      );
      const [event] = await bench.eventLog();
      assert.deepEqual(event?.recipients, ["agt_seller"]);
      assert.strictEqual(JSON.parse(String(event?.bodyJson)).unsolicited, true);
      assert.strictEqual(await bench.dispatches.countDocuments(), 0);
      await bench.follower().step();
      assert.strictEqual(await bench.transactions.countDocuments({ sellerAgentId: "agt_seller" }), 1);
    });

    it("[D16] that took a checkout's id with other terms as a lost checkout", async () => {
      const record = await bench.checkout();
      bench.indexer.mine([created(record, { amount: 999_999n })]);
      await bench.follower().step();
      const stored = await bench.read(record);
      assert.deepEqual([stored.status, stored.expiredBy, stored.escrow], ["expired", "escrow_id_taken", null]);
      const other = await bench.transactions.findOne({ unsolicited: true }).lean();
      assert.strictEqual(other?.amount, "999999");
      const [event] = await bench.eventLog();
      assert.strictEqual(event?.transactionId, other?._id);
    });

    it("[D6] that its seller declined as ended, so that its standing counts a late decline", async () => {
      const record = await bench.checkout();
      const follower = bench.follower();
      bench.indexer.mine([created(record)]);
      assert.deepEqual((await follower.step()).settledWallets, []);
      bench.indexer.mine([moved(record, "EscrowRefunded")]);
      assert.deepEqual((await follower.step()).settledWallets.sort(), [SELLER, BUYER].sort());
    });

    it("[D16] that was funded after the quote's end as late, and tells the seller that a refund is possible", async () => {
      const record = await bench.checkout({ quoteExpiresAt: START });
      bench.indexer.mine([created(record)], 60);
      await bench.follower().step();
      assert.strictEqual((await bench.read(record)).status, "funded");
      const [event] = await bench.eventLog();
      const body = JSON.parse(event?.bodyJson ?? "{}");
      assert.strictEqual(body.late, true);
      assert.match(body.notice, /refund/);
    });

    it("[D15] that nobody funded as expired once quote and margin are over, and as funded if it comes late", async () => {
      const record = await bench.checkout();
      const quoteEnd = START + 900;
      const expire = (headTimestamp: number) =>
        expireQuotes(bench.transactions, "base-sepolia", headTimestamp, bench.clock);
      assert.strictEqual(await expire(quoteEnd + EXPIRY_MARGIN_SECONDS), 0);
      assert.strictEqual(await expire(quoteEnd + EXPIRY_MARGIN_SECONDS + 1), 1);
      const expired = await bench.read(record);
      assert.deepEqual([expired.status, expired.expiredBy], ["expired", "quote"]);
      bench.indexer.mine([created(record)], 5_000);
      await bench.follower().step();
      assert.strictEqual((await bench.read(record)).status, "funded");
      assert.strictEqual(await expire(quoteEnd + 100_000), 0);
    });
  });
});
