// Rulings on their way to the chain: put, signed, mined and final.
import { assert } from "chai";

import { withTransaction } from "../../../../api/db/connection.ts";
import { CONFIRMATIONS, NETWORK, RulingBench } from "../../../fixtures/rulings.ts";

describe("a ruling", () => {
  let bench: RulingBench;

  before(async () => {
    bench = await RulingBench.open();
  });
  after(async () => {
    await bench.close();
  });

  for (const [role, outcome, buyerPercent] of [
    ["system", "BuyerRefund", 100],
    ["system", "SellerPaid", 0],
    ["system", "Split", 50],
    ["admin", "Split", 30],
  ] as const) {
    it(`by ${role} as ${outcome} is put on chain once, with its percentage and hash [D8]`, async () => {
      const sender = bench.sender();
      const ruling = await bench.ruled({ role, outcome, buyerPercent });
      await sender.step(NETWORK);
      await sender.step(NETWORK);
      const mined = await bench.record(ruling);
      assert.strictEqual(mined.state, "mined", mined.detail ?? "");
      await bench.chain.mine(CONFIRMATIONS);
      await sender.step(NETWORK);
      const final = await bench.record(ruling);
      assert.strictEqual(final.state, "final");
      assert.isUndefined(final.dueAt);
      const [resolution, ...others] = await bench.chain.resolutionsOf(ruling.escrowId);
      assert.deepEqual(others, []);
      assert.strictEqual(resolution?.txHash, final.txHash);
      assert.strictEqual(resolution?.rationaleHash, ruling.rationaleHash);
      assert.strictEqual(resolution?.buyerPercent, BigInt(buyerPercent));
      assert.strictEqual(resolution?.resolvedBy, role === "system" ? 0 : 1);
      assert.strictEqual(await sender.step(NETWORK), 0, "nothing remains to do");
    });
  }

  it("is put once for a dispute, and only if the caller's transaction commits", async () => {
    const sender = bench.sender();
    const ruling = await bench.ruling();
    const rollback = withTransaction(bench.connection, async (session) => {
      assert.isTrue(await sender.put(ruling, session));
      throw new Error("the caller fails");
    });
    await assert.isRejected(rollback, "the caller fails");
    assert.strictEqual((await sender.readStates([ruling.disputeId])).size, 0);
    const puts = await Promise.all([bench.put(ruling), bench.put({ ...ruling, outcome: "SellerPaid" })]);
    assert.deepEqual(puts.sort(), [false, true]);
    await assert.isRejected(bench.put({ ...ruling, disputeId: "dsp_another" }), /duplicate key/);
  });

  it("waits without being looked at while its key has enough transactions in flight", async () => {
    const own = await RulingBench.open();
    try {
      const ahead = { now: () => new Date(Date.now() + 60_000) };
      const sender = own.sender({ ...ahead, timings: { maxInFlight: 2 } });
      const rulings = [];
      for (let put = 0; put < 7; put += 1) rulings.push(await own.ruled());
      await own.chain.client.setAutomine(false);
      assert.strictEqual(await sender.step(NETWORK), 2, "as many as there is room for");
      const inFlight = { inFlight: true };
      assert.strictEqual(await sender.model.countDocuments(inFlight), 2);
      await own.chain.client.setAutomine(true);
      for (const ruling of rulings) await own.finish(ruling, sender);
      for (const { escrowId } of rulings) assert.lengthOf(await own.chain.resolutionsOf(escrowId), 1);
    } finally {
      await own.close();
    }
  });
});
