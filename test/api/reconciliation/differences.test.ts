// What the daily comparison takes for a difference, and what becomes of one.
import { assert } from "chai";

import type { ChainEscrow } from "../../../api/chain/chain-client.ts";
import { recheckQueueOf } from "../../../api/features/chain-follower/module.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { START } from "../../fixtures/follower.ts";
import {
  comparisonBench,
  COMPARED_HEAD as HEAD,
  COMPARED_NETWORK as NETWORK,
  DAY_MS,
  RECHECK_MS,
} from "../../fixtures/reconciliation.ts";

const log = createLogger({ level: "silent", name: "test" });
const FUNDED = 1;

/** The funded escrow of a checkout, with some fields replaced. */
function escrowOf(record: TransactionRecord, fields: Partial<ChainEscrow> = {}): ChainEscrow {
  return {
    buyer: record.buyerAddress,
    seller: record.sellerAddress,
    token: record.token.address,
    amount: BigInt(record.amount),
    state: FUNDED,
    createdAt: BigInt(START),
    deadline: BigInt(record.deadline),
    deliveredAt: 0n,
    disputedAt: 0n,
    disputeWindow: BigInt(record.disputeWindow),
    abandonmentGrace: BigInt(record.abandonmentGrace),
    criteriaHash: record.criteriaHash,
    ...fields,
  };
}

describe("a difference between a copy and its contract", () => {
  const bench = comparisonBench();

  /** Stores a copy of an escrow that was read at a block. */
  const copyAt = (record: TransactionRecord, updatedBlock: number) =>
    bench.transactions.collection.updateOne({ _id: record._id } as object, {
      $set: {
        status: "funded",
        escrow: { state: "Funded", createdAt: START, deliveredAt: null, disputedAt: null, updatedBlock },
      },
    });
  const states = async () => (await bench.differences()).map(({ state, looks }) => [state, looks]);
  const isWaiting = async ({ escrowId }: TransactionRecord) =>
    (await recheckQueueOf(bench.connection).waiting(NETWORK, [escrowId])).size === 1;

  it("[D15] is looked at again once its pause has ended, and not before", async () => {
    const record = await bench.checkout();
    bench.escrows.set(record.escrowId, escrowOf(record));
    const comparison = bench.process();
    await comparison.run(log);
    assert.deepEqual(await states(), [["suspected", 1]]);
    bench.after(RECHECK_MS - 1);
    await comparison.run(log);
    assert.deepEqual(await states(), [["suspected", 1]]);
    assert.isFalse(await isWaiting(record));
    bench.after(1);
    await comparison.run(log);
    assert.deepEqual(await states(), [["found", 2]]);
    assert.isTrue(await isWaiting(record));
  });

  it("[D15] isn't repaired before the copy has been read again, and is found again if it comes back", async () => {
    const record = await bench.checkout();
    bench.escrows.set(record.escrowId, escrowOf(record));
    const comparison = bench.process();
    await comparison.run(log);
    bench.after(RECHECK_MS);
    await comparison.run(log);
    bench.after(2 * RECHECK_MS);
    await comparison.run(log);
    assert.deepEqual(await states(), [["found", 2]], "it waits to be read again");

    await bench.models.quarantine.deleteMany({});
    bench.escrows.clear();
    bench.after(RECHECK_MS);
    await comparison.run(log);
    assert.deepEqual(await states(), [["repaired", 2]]);

    bench.escrows.set(record.escrowId, escrowOf(record));
    bench.after(DAY_MS);
    await comparison.run(log);
    assert.deepEqual(await states(), [
      ["repaired", 2],
      ["suspected", 1],
    ]);
  });

  it("[D15] isn't seen in a copy that is newer than the block, only in one as old", async () => {
    const record = await bench.checkout();
    const comparison = bench.process();
    await copyAt(record, HEAD + 1);
    await comparison.run(log);
    assert.deepInclude((await bench.pass())?.finished, { escrows: 0, skipped: 1 });
    assert.isEmpty(await bench.differences());
    await copyAt(record, HEAD);
    bench.after(DAY_MS);
    await comparison.run(log);
    assert.deepInclude((await bench.pass())?.finished, { escrows: 1, skipped: 0 });
    assert.deepEqual(
      (await bench.differences()).map(({ fields }) => fields),
      [[{ field: "state", copy: "Funded", contract: "None" }]],
    );
  });

  it("[D15] is an escrow with other terms, unless the copy says that its id was taken", async () => {
    const taken = await bench.checkout({ status: "expired", expiredBy: "escrow_id_taken" });
    const open = await bench.checkout();
    for (const record of [taken, open]) bench.escrows.set(record.escrowId, escrowOf(record, { amount: 7n }));
    await bench.process().run(log);
    const found = await bench.differences();
    assert.deepEqual(
      found.map(({ subject, fields }) => ({ subject, fields })),
      [
        {
          subject: open._id,
          fields: [
            { field: "status", copy: "pending_funding", contract: "expired: escrow_id_taken" },
            { field: "amount", copy: open.amount, contract: "7" },
          ],
        },
      ],
    );
  });

  describe("of scores", () => {
    const walletOf = (index: number) => `0x${index.toString(16).padStart(40, "0")}`;
    const store = (network: "base-sepolia" | "base", copies: { score: number; indexedBlock: number }[]) =>
      bench.standings.insertMany(
        copies.map(({ score, indexedBlock }, index) => ({
          _id: `${network}:${walletOf(index)}`,
          network,
          walletKey: walletOf(index),
          score,
          indexedBlock,
          distinctCounterparties: 0,
          topCounterpartyCount: 0,
          settledCount: 0,
          released: 0,
          lateDeclines: 0,
          earlyDeclineShare: 0,
          trust: 0,
          syncedAt: bench.clock,
        })),
      );

    it("[D20] is looked for in every copy of the network, after any number of escrows, and in no other network's", async () => {
      await bench.checkouts(60);
      await store(
        "base-sepolia",
        Array.from({ length: 60 }, () => ({ score: 0, indexedBlock: HEAD })),
      );
      await store("base", [{ score: 5, indexedBlock: HEAD }]);
      await bench.process().run(log);
      assert.deepInclude((await bench.pass())?.finished, { escrows: 60, scores: 60, skipped: 0 });
      assert.isEmpty(await bench.differences());
    });

    it("[D20] is looked for at a recent copy's own block, and at the follower's for an old copy", async () => {
      const [recent, old, ahead] = [walletOf(0), walletOf(1), walletOf(2)];
      bench.reached = HEAD - 20;
      bench.scoreAt = (wallet, block) => (wallet === recent && block < HEAD - 5 ? 3 : 7);
      await store("base-sepolia", [
        { score: 7, indexedBlock: HEAD - 5 },
        { score: 7, indexedBlock: 10 },
        { score: 9, indexedBlock: HEAD + 1 },
      ]);
      await bench.process().run(log);
      assert.deepEqual(bench.askedScores, [
        [recent, HEAD - 5],
        [old, HEAD - 20],
      ]);
      assert.isFalse(
        bench.askedScores.some(([wallet]) => wallet === ahead),
        "its block isn't there yet",
      );
      assert.deepInclude((await bench.pass())?.finished, { scores: 2, skipped: 1 });
      assert.isEmpty(await bench.differences());
    });
  });
});
