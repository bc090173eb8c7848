import { assert } from "chai";

import { CursorMovedError } from "../../../api/features/chain-follower/quarantine.ts";
import { Lease } from "../../../api/jobs/lease.ts";
import type { EventRecorder } from "../../../api/features/events/recorder.ts";
import { BUYER, bytes32, CALLBACK, created, ENDPOINT, followerBench, killed, moved } from "../../fixtures/follower.ts";
import { until } from "../../fixtures/until.ts";

/** Longer than the test takes on any machine, so that only the test ends a lease. */
const LEASE_MS = 600_000;

describe("the follower of the chain", () => {
  const bench = followerBench();

  describe("writes copy, event and dispatches together", () => {
    it("[S6.05] [S6.06] of a funded escrow, once, even after repeated steps", async () => {
      const record = await bench.checkout();
      const first = bench.follower();
      bench.indexer.mine();
      await first.step();
      assert.deepEqual(await bench.eventTypes(), [], "nothing is on chain yet");
      bench.indexer.mine([created(record)]);
      await first.step();
      await first.step();
      await bench.follower().step();
      const stored = await bench.read(record);
      assert.strictEqual(stored.status, "funded");
      assert.strictEqual(stored.escrow?.state, "Funded");
      assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
      assert.deepEqual(await bench.sentTo(ENDPOINT), ["escrow.funded"]);
      assert.strictEqual(await bench.dispatches.countDocuments({ kind: "backup" }), 1);
    });

    it("or not at all when it is killed before the end, and then the next one writes everything", async () => {
      const record = await bench.checkout();
      const dying: EventRecorder = {
        ...bench.recorder,
        async record(announcements, session) {
          await bench.recorder.record(announcements, session);
          throw killed();
        },
      };
      bench.indexer.mine([created(record)]);
      await assert.isRejected(bench.follower({ recorder: dying }).step(), /killed/);
      assert.strictEqual((await bench.read(record)).status, "pending_funding");
      for (const model of [bench.models.events, bench.models.applied, bench.models.cursors, bench.dispatches]) {
        assert.strictEqual(await model.countDocuments(), 0);
      }
      await bench.follower().step();
      assert.strictEqual((await bench.read(record)).status, "funded");
      assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
    });

    it("in chain order, through the whole life of an escrow", async () => {
      const record = await bench.checkout({ responsePayloadJson: '{"a":1}', deliveryProof: bytes32() });
      const one = bench.follower();
      bench.indexer.mine([created(record), moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
      bench.indexer.mine([moved(record, "EscrowReleased", { automatic: false })]);
      await one.step();
      assert.deepEqual(await bench.eventTypes(), ["escrow.funded", "service.delivered", "escrow.released"]);
      const positions = (await bench.eventLog()).map(({ agentId, seq }) => [agentId, seq]);
      assert.deepEqual(positions, [
        ["agt_seller", 1],
        ["agt_buyer", 1],
        ["agt_seller", 2],
      ]);
      assert.strictEqual((await bench.read(record)).status, "released");
    });

    it("[S6.10] as escrow.finalized, and not escrow.released, after the window has elapsed", async () => {
      const record = await bench.checkout();
      bench.indexer.mine([created(record), moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
      bench.indexer.mine([moved(record, "EscrowReleased", { automatic: true })]);
      await bench.follower().step();
      const sent = await bench.sentTo(ENDPOINT);
      assert.ok(sent.includes("escrow.finalized") && !sent.includes("escrow.released"));
    });

    it("[D17] as delivery.submitted while the payload is missing", async () => {
      const record = await bench.checkout();
      bench.indexer.mine([created(record), moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
      await bench.follower().step();
      assert.deepEqual(await bench.sentTo(CALLBACK), ["delivery.submitted"]);
    });

    it("for many escrows in many pages", async () => {
      const records = [];
      for (let n = 0; n < 60; n += 1) records.push(await bench.checkout());
      for (const record of records) bench.indexer.mine([created(record), moved(record, "EscrowRefunded")]);
      // Others' escrows are between them: more than the subgraph returns at once.
      for (let n = 0; n < 5; n += 1) {
        bench.indexer.mine(
          Array.from({ length: 300 }, () => ({
            type: "EscrowCreated" as const,
            escrowId: bytes32(),
            buyer: BUYER,
            seller: BUYER,
          })),
        );
      }
      await bench.follower().step();
      assert.strictEqual(await bench.models.events.countDocuments({ type: "escrow.funded" }), 60);
      assert.strictEqual(await bench.transactions.countDocuments({ status: "refunded" }), 60);
      assert.strictEqual((await bench.cursor())?.headNumber, bench.indexer.height);
    });
  });

  it("applies each move once with two concurrent followers", async () => {
    const records = [];
    for (let n = 0; n < 20; n += 1) records.push(await bench.checkout());
    const two = [bench.follower(), bench.follower()];
    for (const record of records) {
      bench.indexer.mine([created(record)]);
      const results = await Promise.allSettled(two.map((one) => one.step()));
      for (const result of results) {
        if (result.status === "rejected") {
          assert.ok(result.reason instanceof CursorMovedError, String(result.reason));
        }
      }
    }
    for (const one of two) await one.step();
    const events = await bench.eventLog();
    assert.strictEqual(events.length, 20);
    assert.deepEqual(
      events.map(({ seq }) => seq),
      Array.from({ length: 20 }, (_, n) => n + 1),
    );
    assert.strictEqual(await bench.dispatches.countDocuments({ kind: "immediate" }), 20);
  });

  it("writes nothing in a follower that was paused while another went on: its cursor is outdated", async () => {
    const [first, second] = [await bench.checkout(), await bench.checkout()];
    const paused = bench.follower();
    bench.indexer.mine([created(first)]);
    await paused.step();
    bench.indexer.mine([created(second)]);
    await bench.follower().step();
    const cursor = await bench.cursor();
    await assert.isRejected(paused.step(), CursorMovedError);
    assert.deepEqual(await bench.cursor(), cursor);
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded", "escrow.funded"]);
  });

  it("leaves what it can't write to another worker at once, however long its lease", async () => {
    const record = await bench.checkout();
    bench.indexer.mine([created(record)]);
    const ending = new AbortController();
    const leaseOf = (owner: string) =>
      new Lease({ leases: bench.models.leases, name: "leader", owner, ttlMs: LEASE_MS });
    const { promise: hasFailed, resolve } = Promise.withResolvers<undefined>();
    const recorder: EventRecorder = {
      ...bench.recorder,
      record() {
        resolve(undefined);
        return Promise.reject(killed());
      },
    };
    const failing = bench.follower({ recorder, lease: leaseOf("failing") }).run(ending.signal);
    await hasFailed;
    const able = bench.follower({ lease: leaseOf("able") }).run(ending.signal);
    await until("the other has written it", async () => (await bench.read(record)).status === "funded");
    ending.abort();
    await Promise.all([failing, able]);
    assert.deepEqual(await bench.eventTypes(), ["escrow.funded"]);
  });

  it("has one leader at a time, and another one once that is gone", async () => {
    // An object that holds the lease asks the database again only later, so each check here uses a new one.
    const leaseOf = (owner: string) =>
      new Lease({ leases: bench.models.leases, name: "leader", owner, ttlMs: LEASE_MS });
    const owner = async () => (await bench.models.leases.findById("leader").lean())?.owner;
    const taken = await Promise.all([leaseOf("one").acquire(), leaseOf("two").acquire()]);
    assert.deepEqual(taken.sort(), [false, true]);
    const [winner, loser] = (await owner()) === "one" ? ["one", "two"] : ["two", "one"];
    assert.strictEqual(await leaseOf(loser).acquire(), false);
    assert.strictEqual(await leaseOf(winner).acquire(), true);

    await bench.models.leases.updateOne({ _id: "leader" }, { expiresAt: new Date(0) });
    assert.strictEqual(await leaseOf(loser).acquire(), true);
    assert.strictEqual(await leaseOf(winner).acquire(), false);
    assert.strictEqual(await owner(), loser);

    await leaseOf(winner).release();
    assert.strictEqual(await leaseOf(winner).acquire(), false, "nobody releases another's lease");
    await leaseOf(loser).release();
    assert.strictEqual(await leaseOf(winner).acquire(), true);
  });
});
