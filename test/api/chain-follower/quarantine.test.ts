import { assert } from "chai";
import { MongoServerError } from "mongodb";

import { bytes32, created, followerBench, killed, moved } from "../../fixtures/follower.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";

const HOUR_MS = 3_600_000;

describe("an escrow whose moves can't be applied", () => {
  const bench = followerBench();

  const statusesOf = async (records: TransactionRecord[]) =>
    (await Promise.all(records.map((record) => bench.read(record)))).map(({ status }) => status);
  const later = (ms: number) => {
    bench.clock = new Date(bench.clock.getTime() + ms);
  };
  const eventsOf = async ({ _id }: TransactionRecord) =>
    (await bench.eventLog()).filter(({ transactionId }) => transactionId === _id).map(({ type }) => type);

  /** A checkout whose funding can't be announced, because its stored request isn't JSON. */
  const poisoned = () => bench.checkout({ requestPayloadJson: "{" });
  const heal = ({ _id }: TransactionRecord) => bench.transactions.updateOne({ _id }, { requestPayloadJson: "{}" });

  it("waits alone, with its error, while all others continue", async () => {
    const records = [...(await bench.checkouts(5)), await poisoned(), ...(await bench.checkouts(5))];
    for (const record of records) bench.indexer.mine([created(record)]);
    bench.indexer.mine(records.map((record) => moved(record, "DeliverySubmitted", { proofHash: bytes32() })));
    await bench.follower().step();
    const expected = records.map((_, index) => (index === 5 ? "pending_funding" : "delivered"));
    assert.deepEqual(await statusesOf(records), expected);
    const [held, ...others] = await bench.models.quarantine.find().lean();
    assert.strictEqual(others.length, 0);
    assert.deepEqual([held?.escrowId, held?.error.name, held?.attempts], [records[5]?.escrowId, "SyntaxError", 1]);
    assert.strictEqual((await bench.cursor())?.headNumber, bench.indexer.height);
  });

  it("[D37] gets all its moves applied in order, once, as soon as possible", async () => {
    const record = await poisoned();
    bench.indexer.mine([created(record)]);
    const one = bench.follower();
    await one.step();
    bench.indexer.mine([moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
    await one.step();
    assert.deepEqual(await eventsOf(record), []);
    await heal(record);
    await one.step();
    assert.deepEqual(await eventsOf(record), [], "it is not due yet");
    later(HOUR_MS);
    await one.step();
    assert.strictEqual((await bench.read(record)).status, "delivered");
    assert.deepEqual(await eventsOf(record), ["escrow.funded", "delivery.submitted"]);
    assert.strictEqual(await bench.models.quarantine.countDocuments(), 0);
    bench.indexer.mine([moved(record, "EscrowReleased")]);
    await one.step();
    await bench.follower().step();
    assert.deepEqual(await eventsOf(record), ["escrow.funded", "delivery.submitted", "escrow.released"]);
  });

  it("is tried less and less often, at most an hour apart, and at once when an operator asks for it", async () => {
    const record = await poisoned();
    bench.indexer.mine([created(record)]);
    const one = bench.follower();
    await one.step();
    const pauses: number[] = [];
    for (let attempt = 0; attempt < 12; attempt += 1) {
      const held = await bench.models.quarantine.findOne().lean();
      assert.strictEqual(held?.attempts, attempt + 1);
      pauses.push((held?.retryAt.getTime() ?? 0) - bench.clock.getTime());
      bench.clock = held?.retryAt ?? bench.clock;
      await one.step();
    }
    assert.ok(pauses.every((pause, index) => pause >= (pauses[index - 1] ?? 0)));
    assert.strictEqual(pauses.at(-1), HOUR_MS);
    await heal(record);
    await bench.models.quarantine.updateOne({}, { retryAt: bench.clock });
    await one.step();
    assert.strictEqual((await bench.read(record)).status, "funded");
  });

  it("also waits when the subgraph returns a move that this version can't read", async () => {
    const [odd, ...others] = await bench.checkouts(3);
    assert.ok(odd !== undefined);
    bench.indexer.setReadable(odd.escrowId, false);
    bench.indexer.mine([odd, ...others].map((record) => created(record)));
    const one = bench.follower();
    await one.step();
    assert.deepEqual(await statusesOf([odd, ...others]), ["pending_funding", "funded", "funded"]);
    assert.strictEqual((await bench.models.quarantine.findOne().lean())?.error.name, "UnreadableMoveError");
    later(HOUR_MS);
    await one.step();
    assert.strictEqual((await bench.models.quarantine.findOne().lean())?.attempts, 2);
    bench.indexer.setReadable(odd.escrowId, true);
    later(HOUR_MS);
    await one.step();
    assert.deepEqual(await statusesOf([odd]), ["funded"]);
  });

  it("[D37] is compared with the chain after a reorganisation in the meantime", async () => {
    const record = await bench.checkout();
    bench.indexer.mine();
    bench.indexer.mine([created(record)]);
    const one = bench.follower();
    await one.step();
    bench.indexer.setReadable(record.escrowId, false);
    bench.indexer.mine([moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
    await one.step();
    assert.strictEqual(await bench.models.quarantine.countDocuments(), 1);
    bench.indexer.rollBackTo(1);
    for (let n = 0; n < 3; n += 1) bench.indexer.mine();
    await one.step();
    assert.deepEqual(await eventsOf(record), ["escrow.funded"]);
    bench.indexer.setReadable(record.escrowId, true);
    later(HOUR_MS);
    await one.step();
    assert.deepEqual(await eventsOf(record), ["escrow.funded", "escrow.reorged"]);
    assert.strictEqual((await bench.read(record)).status, "pending_funding");
  });

  it("isn't quarantined because of a lost database connection", async () => {
    const record = await bench.checkout();
    bench.indexer.mine([created(record)]);
    const recorder = { ...bench.recorder, record: () => Promise.reject(killed()) };
    await assert.isRejected(bench.follower({ recorder }).step(), /killed/);
    assert.strictEqual(await bench.models.quarantine.countDocuments(), 0);
    await bench.follower().step();
    assert.strictEqual((await bench.read(record)).status, "funded");
  });

  it("isn't quarantined because the database server is out of disk space", async () => {
    const record = await bench.checkout();
    bench.indexer.mine([created(record)]);
    const full = new MongoServerError({ message: "out of disk space", code: 14_031 });
    const recorder = { ...bench.recorder, record: () => Promise.reject(full) };
    await assert.isRejected(bench.follower({ recorder }).step(), /out of disk space/);
    assert.strictEqual(await bench.models.quarantine.countDocuments(), 0);
    await bench.follower().step();
    assert.strictEqual((await bench.read(record)).status, "funded");
  });
});
