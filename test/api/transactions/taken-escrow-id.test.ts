import { assert } from "chai";

import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { startTestApi } from "../../fixtures/api.ts";
import { FakeIndexer } from "../../fixtures/fake-indexer.ts";
import type { Move } from "../../fixtures/fake-indexer.ts";
import { BUYER, bytes32, created, followerBench, moved, START, STRANGER } from "../../fixtures/follower.ts";

describe("an escrow id that other terms have taken", () => {
  const bench = followerBench();

  /** Another escrow with a checkout's id, for its registered seller. */
  const takenForSeller = (record: TransactionRecord): Move => created(record, { amount: 999_999n });
  /** Another escrow with a checkout's id, between unregistered wallets. */
  const takenByStrangers = (record: TransactionRecord): Move => ({
    ...created(record),
    buyer: STRANGER,
    seller: STRANGER,
  });
  const statusOf = async (record: TransactionRecord) => {
    const { status, expiredBy } = await bench.read(record);
    return [status, expiredBy];
  };
  const unsolicited = async () =>
    (await bench.transactions.find({ unsolicited: true }).lean()).map((one) => one.status);

  for (const [who, taken, announced] of [
    ["an agent's", takenForSeller, ["escrow.funded", "escrow.reorged"]],
    ["strangers'", takenByStrangers, []],
  ] as const) {
    describe(`by ${who} escrow`, () => {
      it("is free again when a reorganisation removes that escrow, and the checkout waits again", async () => {
        const record = await bench.checkout();
        const one = bench.follower();
        bench.indexer.mine([taken(record)]);
        await one.step();
        assert.deepEqual(await statusOf(record), ["expired", "escrow_id_taken"]);
        bench.indexer.rollBackTo(0);
        bench.indexer.mine();
        bench.indexer.mine();
        await one.step();
        assert.deepEqual(await statusOf(record), ["pending_funding", null]);
        assert.deepEqual(await bench.eventTypes(), [...announced]);
        assert.deepEqual(await unsolicited(), ["expired"]);
      });

      it("[D16] belongs to the checkout if it is funded on the new branch after all", async () => {
        const record = await bench.checkout();
        bench.indexer.mine([taken(record), { ...moved(record, "DeliverySubmitted"), proofHash: bytes32() }]);
        await bench.follower().step();
        bench.indexer.rollBackTo(0);
        bench.indexer.mine();
        bench.indexer.mine([created(record)]);
        await bench.follower().step();
        assert.deepEqual(await statusOf(record), ["funded", null]);
        const own = (await bench.eventLog()).filter(({ transactionId }) => transactionId === record._id);
        assert.deepEqual(
          own.map(({ type }) => type),
          ["escrow.funded"],
        );
        const applied = await bench.models.applied.findOne({ type: "EscrowCreated" }).lean();
        assert.deepEqual([applied?.transactionId, applied?.live], [record._id, true]);
        assert.deepEqual(await unsolicited(), ["expired"]);
      });

      it("[D16] [D37] only on another branch withdraws the announced funding", async () => {
        const record = await bench.checkout();
        bench.indexer.mine([created(record)]);
        await bench.follower().step();
        bench.indexer.rollBackTo(0);
        bench.indexer.mine();
        bench.indexer.mine([taken(record)]);
        await bench.follower().step();
        assert.deepEqual(await statusOf(record), ["expired", "escrow_id_taken"]);
        const own = (await bench.eventLog()).filter(({ transactionId }) => transactionId === record._id);
        assert.deepEqual(
          own.map(({ type }) => type),
          ["escrow.funded", "escrow.reorged"],
        );
        assert.deepEqual(await unsolicited(), ["funded"]);
      });

      it("changes nothing more when it is seen repeatedly", async () => {
        const record = await bench.checkout();
        bench.indexer.mine([taken(record)]);
        await bench.follower().step();
        const { updatedAt } = await bench.read(record);
        const events = await bench.eventTypes();
        bench.clock = new Date(bench.clock.getTime() + 60_000);
        await bench.follower().step();
        assert.deepEqual((await bench.read(record)).updatedAt, updatedAt);
        assert.deepEqual(await bench.eventTypes(), events);
      });
    });
  }

  it("[D10] by one unsolicited escrow after another is announced with its current terms", async () => {
    bench.wallets.set(BUYER, "agt_buyer");
    const record = await bench.checkout();
    bench.indexer.mine([
      created(record, { amount: 111n }),
      moved(record, "DeliverySubmitted", { proofHash: bytes32() }),
    ]);
    await bench.follower().step();
    bench.indexer.rollBackTo(0);
    bench.indexer.mine();
    bench.indexer.mine([
      created(record, { amount: 222n }),
      moved(record, "DeliverySubmitted", { proofHash: bytes32() }),
    ]);
    await bench.follower().step();
    const [other, ...more] = await bench.transactions.find({ unsolicited: true }).lean();
    assert.deepEqual([other?.amount, other?.status, more.length], ["222", "delivered", 0]);
    assert.deepEqual(await bench.eventTypes(), [
      ...["escrow.funded", "delivery.submitted"],
      ...["escrow.reorged", "escrow.reorged", "escrow.funded", "delivery.submitted"],
    ]);
    const funded = (await bench.eventLog()).filter(({ type }) => type === "escrow.funded");
    assert.deepEqual(
      funded.map(({ bodyJson }) => JSON.parse(bodyJson).lockedAmount),
      ["108", "217"],
    );
  });

  it("[D15] has the same state in lists as when it is read alone, before and after a reorganisation", async () => {
    const indexer = new FakeIndexer(START);
    const api = await startTestApi({ indexers: { "base-sepolia": indexer, base: new FakeIndexer(START) } });
    try {
      const buyer = await api.registerAgent();
      const { transactions, chainFollower } = api.container.features;
      const record = await bench.checkout({ buyerAgentId: buyer.agentId });
      await transactions.models.transactions.create([record]);
      const inList = async () => (await api.request("GET", "/api/v1/transactions", { key: buyer.apiKey })).body.data[0];
      const alone = async () =>
        (await api.request("GET", `/api/v1/transactions/${record._id}`, { key: buyer.apiKey })).body.data;
      const factsOf = ({ status, expiredBy }: { status: string; expiredBy: string | null }) => [status, expiredBy];

      indexer.mine([takenByStrangers(record)]);
      await chainFollower.followers["base-sepolia"].step();
      for (const read of [inList, alone]) assert.deepEqual(factsOf(await read()), ["expired", "escrow_id_taken"]);
      indexer.rollBackTo(0);
      indexer.mine();
      indexer.mine();
      await chainFollower.followers["base-sepolia"].step();
      for (const read of [inList, alone]) assert.deepEqual(factsOf(await read()), ["pending_funding", null]);
    } finally {
      await api.close();
    }
  });
});
