import { assert } from "chai";

import { BUYER, bytes32, created, followerBench, moved, SELLER } from "../../fixtures/follower.ts";

describe("the follower of the chain", () => {
  const bench = followerBench();

  describe("notices a reorganisation", () => {
    it("[D37] and withdraws what is no longer on chain, and tells both parties", async () => {
      const record = await bench.checkout();
      const one = bench.follower();
      bench.indexer.mine();
      await one.step();
      bench.indexer.mine([created(record)]);
      await one.step();
      const [funded] = await bench.eventLog();
      assert.ok(funded !== undefined);

      bench.indexer.rollBackTo(1);
      bench.indexer.mine();
      bench.indexer.mine();
      await one.step();
      assert.strictEqual((await bench.read(record)).status, "pending_funding");
      assert.strictEqual((await bench.read(record)).escrow, null);
      const reorged = (await bench.eventLog())[1];
      assert.strictEqual(reorged?.type, "escrow.reorged");
      assert.deepEqual(reorged?.recipients.sort(), ["agt_buyer", "agt_seller"]);
      const body = JSON.parse(String(reorged?.bodyJson));
      assert.deepEqual([body.withdrawn, body.withdrawnEventIds], ["EscrowCreated", [funded.eventId]]);

      bench.indexer.mine([created(record)]);
      await one.step();
      const again = (await bench.eventLog())[2];
      assert.strictEqual(again?.type, "escrow.funded");
      assert.notStrictEqual(again?.eventId, funded.eventId, "a second announcement is a second event");
      assert.strictEqual((await bench.read(record)).status, "funded");
      await bench.follower().step();
      assert.strictEqual((await bench.eventLog()).length, 3);
    });

    it("[D37] and keeps the event's id if the move was only mined again in another block", async () => {
      const record = await bench.checkout();
      const one = bench.follower();
      bench.indexer.mine();
      bench.indexer.mine([created(record)]);
      await one.step();
      const before = await bench.models.applied.find().lean();
      bench.indexer.rollBackTo(1);
      bench.indexer.mine();
      bench.indexer.mine([created(record)]);
      await one.step();
      const after = await bench.models.applied.find().lean();
      assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
      assert.notStrictEqual(after[0]?.blockHash, before[0]?.blockHash);
      assert.deepEqual([after[0]?.blockNumber, after[0]?.incarnation, after[0]?.live], [3, 0, true]);
      assert.strictEqual((await bench.read(record)).escrow?.moves[0]?.blockNumber, 3);
    });

    it("[D37] below a move that was mined again at the same height, by the hash of its block", async () => {
      const [below, above] = [await bench.checkout(), await bench.checkout()];
      const one = bench.follower();
      bench.indexer.mine([created(below)]);
      bench.indexer.mine([created(above)]);
      await one.step();
      bench.indexer.rollBackTo(0);
      bench.indexer.mine();
      bench.indexer.mine([created(above)]);
      await one.step();
      const statuses = [(await bench.read(below)).status, (await bench.read(above)).status];
      assert.deepEqual(statuses, ["pending_funding", "funded"]);
    });

    it("only when the new branch is as long as the old one", async () => {
      const record = await bench.checkout();
      const one = bench.follower();
      bench.indexer.mine();
      bench.indexer.mine([created(record)]);
      bench.indexer.mine();
      await one.step();
      bench.indexer.rollBackTo(1);
      bench.indexer.mine();
      await one.step();
      assert.strictEqual((await bench.read(record)).status, "funded");
      assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
      bench.indexer.mine([created(record)]);
      await one.step();
      assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
    });

    it("not when a subgraph stays behind, but finally when the chain itself has become shorter", async () => {
      const record = await bench.checkout();
      const one = bench.follower();
      bench.indexer.mine();
      bench.indexer.mine([created(record)]);
      await one.step();
      // The subgraph indexes again, or another indexer answers instead, while the chain continues.
      bench.indexer.rollBackTo(1);
      bench.chainHeight = 50;
      for (let minute = 0; minute < 3; minute += 1) {
        await one.step();
        bench.clock = new Date(bench.clock.getTime() + 61_000);
      }
      await one.step();
      assert.strictEqual((await bench.read(record)).status, "funded");
      assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);

      bench.chainHeight = 1;
      bench.clock = new Date(bench.clock.getTime() + 61_000);
      await one.step();
      assert.strictEqual((await bench.read(record)).status, "pending_funding");
      assert.deepEqual(await bench.eventTypes(), ["escrow.funded", "escrow.reorged"]);
    });

    it("even after a restart", async () => {
      const record = await bench.checkout();
      bench.indexer.mine([created(record)]);
      await bench.follower().step();
      bench.indexer.rollBackTo(0);
      bench.indexer.mine();
      bench.indexer.mine();
      await bench.follower().step();
      assert.deepEqual(await bench.eventTypes(), ["escrow.funded", "escrow.reorged"]);
      assert.strictEqual((await bench.read(record)).status, "pending_funding");
    });

    it("and withdraws only a release, so the escrow is delivered as before", async () => {
      const record = await bench.checkout();
      const one = bench.follower();
      bench.indexer.mine([created(record), moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
      bench.indexer.mine([moved(record, "EscrowReleased")]);
      await one.step();
      bench.indexer.rollBackTo(1);
      bench.indexer.mine();
      bench.indexer.mine();
      const step = await one.step();
      assert.strictEqual(step.withdrawn, 1);
      assert.deepEqual(step.settledWallets.sort(), [SELLER, BUYER].sort());
      assert.strictEqual((await bench.read(record)).status, "delivered");
    });
  });
});
