import { assert } from "chai";

import { DURABLE_RETRIES } from "../../../api/config/constants.ts";
import { chainFilter, scheduledBehind } from "../../../api/features/outbox/chains.ts";
import type { Send } from "../../../api/features/outbox/dispatcher.ts";
import { durablePauseMs, OUTBOX_DEFAULTS, waitingInLane } from "../../../api/features/outbox/outbox.ts";
import { ACKNOWLEDGED, DROPPED, REFUSED, scripted, TestOutbox } from "../../fixtures/outbox.ts";
import { seededRandom } from "../../fixtures/random.ts";

const HOUR_MS = 3_600_000;
const QUEUED = 3_000;

describe("durable dispatches", () => {
  let outbox: TestOutbox;

  before(async () => {
    outbox = await TestOutbox.open();
  });
  after(() => outbox.close());
  beforeEach(() => outbox.clear());

  const statuses = async (orderKey: string) => {
    const found = await outbox.models.dispatches.find({ orderKey }).sort({ seq: 1 }).lean();
    return found.map(({ status }) => status);
  };

  describe("are retried", () => {
    it("[D37] for 24 hours, and the next of the transaction is sent once the first is given up", async () => {
      await outbox.putDurable("txn_1", [1, 2]);
      const receiver = scripted(REFUSED);
      const dispatcher = outbox.dispatcher(receiver.send);
      for (let hour = 0; hour < 24; hour += 1) {
        await dispatcher.drain();
        assert.deepEqual(await statuses("txn_1"), ["pending", "pending"], `after ${hour} hours`);
        // The longest pause.
        await outbox.age(HOUR_MS);
      }
      const attempts = receiver.sent.length;
      assert.isAtLeast(attempts, 23);
      assert.deepEqual([...new Set(receiver.sent.map(({ seq }) => seq))], [1]);
      await dispatcher.drain();
      assert.deepEqual([...new Set(receiver.sent.map(({ seq }) => seq))], [1, 2]);
      await dispatcher.drain();
      // Both were recorded a day ago.
      assert.deepEqual(await statuses("txn_1"), ["failed", "failed"]);
    });

    it("[D37] until they are acknowledged, after pauses of random length below a limit that doubles", async () => {
      assert.deepEqual(DURABLE_RETRIES, { retriedForMs: 24 * HOUR_MS, firstPauseMs: 5_000, maxPauseMs: HOUR_MS });
      const pauses = (attempts: number) =>
        Array.from({ length: 200 }, () => durablePauseMs(attempts, OUTBOX_DEFAULTS.durable));
      for (const [attempts, limit] of [
        [1, 5_000],
        [2, 10_000],
        [5, 80_000],
        [11, HOUR_MS],
        [99, HOUR_MS],
      ] as const) {
        assert.ok(pauses(attempts).every((pause) => pause >= 0 && pause < limit));
        assert.isAbove(Math.max(...pauses(attempts)), limit / 2);
      }
      await outbox.putDurable("txn_1", [1]);
      const receiver = scripted(REFUSED, REFUSED, REFUSED, ACKNOWLEDGED);
      for (let n = 0; n < 6; n += 1) {
        await outbox.dispatcher(receiver.send).drain();
        await outbox.age(HOUR_MS);
      }
      assert.strictEqual(receiver.sent.length, 4);
      assert.deepEqual(await statuses("txn_1"), ["acknowledged"]);
    });

    it("but a forbidden address isn't tried again, and lets the next one go", async () => {
      await outbox.putDurable("txn_1", [1, 2]);
      const receiver = scripted(DROPPED, ACKNOWLEDGED);
      await outbox.dispatcher(receiver.send).drain();
      assert.deepEqual(await statuses("txn_1"), ["dropped", "acknowledged"]);
    });
  });

  describe("are sent in order", () => {
    it("[D37] of a transaction: a later event waits until the earlier one is acknowledged, others don't wait", async () => {
      await outbox.putDurable("txn_1", [1, 2, 3]);
      await outbox.putDurable("txn_2", [4, 5]);
      await outbox.putDurable(null, [6, 7]);
      let isHealthy = false;
      const sent: number[] = [];
      const send: Send = ({ seq, orderKey }) => {
        sent.push(seq);
        return Promise.resolve(orderKey === "txn_1" && !isHealthy ? REFUSED : ACKNOWLEDGED);
      };
      await outbox.dispatcher(send).drain();
      assert.sameMembers(
        sent.filter((seq) => seq !== 1),
        [4, 5, 6, 7],
      );
      assert.isBelow(sent.indexOf(4), sent.indexOf(5));
      isHealthy = true;
      sent.length = 0;
      await outbox.age(HOUR_MS);
      await outbox.dispatcher(send).drain();
      assert.deepEqual(sent, [1, 2, 3]);
    });

    it("by several workers, while more arrive and receivers fail at random", async () => {
      const keys = Array.from({ length: 6 }, (_, n) => `txn_${n}`);
      const sent: { key: string | null; seq: number }[] = [];
      const underWay = new Set<string | null>();
      const acknowledged = new Map<string | null, number>();
      const faults: string[] = [];
      const random = seededRandom();
      const send: Send = async ({ orderKey, seq }) => {
        if (underWay.has(orderKey)) faults.push(`two of ${orderKey} at once`);
        if (seq !== (acknowledged.get(orderKey) ?? 0) + 1) faults.push(`${seq} of ${orderKey} is out of order`);
        underWay.add(orderKey);
        await new Promise((resolve) => setImmediate(resolve));
        underWay.delete(orderKey);
        sent.push({ key: orderKey, seq });
        if (random() < 0.3) return REFUSED;
        acknowledged.set(orderKey, seq);
        return ACKNOWLEDGED;
      };
      const workers = Array.from({ length: 3 }, (_, n) => outbox.dispatcher(send, { owner: `worker-${n}` }));
      for (let seq = 1; seq <= 5; seq += 1) {
        await Promise.all([
          ...keys.map((key, n) => outbox.putDurable(key, [seq], `agt_${n % 2}`)),
          ...workers.map((worker) => worker.drain()),
        ]);
      }
      for (let round = 0; round < 60 && keys.some((key) => (acknowledged.get(key) ?? 0) < 5); round += 1) {
        await outbox.age(60_000);
        await Promise.all(workers.map((worker) => worker.drain()));
      }
      assert.isEmpty(faults);
      for (const key of keys) assert.deepEqual(await statuses(key), Array<string>(5).fill("acknowledged"), key);
    });

    it("after a worker was killed during an attempt: the next one waits until its lease ends", async () => {
      await outbox.putDurable("txn_1", [1, 2]);
      assert.strictEqual((await outbox.takeAndDie())?.seq, 1);
      const receiver = scripted(ACKNOWLEDGED);
      const survivor = outbox.dispatcher(receiver.send, { owner: "worker-2" });
      await survivor.drain();
      assert.isEmpty(receiver.sent);
      await outbox.age(OUTBOX_DEFAULTS.leaseMs);
      await survivor.drain();
      assert.deepEqual(
        receiver.sent.map(({ seq }) => seq),
        [1, 2],
      );
      assert.deepEqual(await statuses("txn_1"), ["acknowledged", "acknowledged"]);
    });

    it("even if every worker that takes the first one dies: it is given up, and the next one goes", async () => {
      await outbox.putDurable("txn_1", [1, 2]);
      const { dispatches } = outbox.models;
      const interrupted = { startedAt: new Date(), outcome: "interrupted" };
      await dispatches.updateOne({ seq: 1 }, { $set: { attempts: Array<object>(100).fill(interrupted) } });
      const receiver = scripted(ACKNOWLEDGED);
      await outbox.dispatcher(receiver.send).drain();
      assert.deepEqual(await statuses("txn_1"), ["failed", "acknowledged"]);
    });
  });

  describe("that wait", () => {
    const examined = (explained: unknown) => {
      const { executionStats: stats } = explained as {
        executionStats: { totalDocsExamined: number; totalKeysExamined: number };
      };
      return [stats.totalDocsExamined, stats.totalKeysExamined];
    };
    const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

    it("[D37] thousands behind one cost their lane nothing, and hold up no other transaction", async () => {
      await outbox.putDurable("txn_dead", upTo(QUEUED));
      const sent: string[] = [];
      const send: Send = ({ orderKey }) => {
        sent.push(orderKey ?? "");
        return Promise.resolve(orderKey === "txn_dead" ? REFUSED : ACKNOWLEDGED);
      };
      await outbox.dispatcher(send).drain();
      await outbox.putDurable("txn_live", [QUEUED + 1]);
      await outbox.dispatcher(send).drain();
      assert.include(sent, "txn_live");
      const { dispatches } = outbox.models;
      assert.strictEqual(await dispatches.countDocuments({ status: "pending" }), QUEUED);
      assert.strictEqual(await dispatches.countDocuments(waitingInLane("agt_seller")), 1);
      const chain = { webhookId: "whk_agt_seller", orderKey: "txn_dead", seq: 1 };
      const first = dispatches.find(chainFilter(chain)).sort({ seq: 1 }).limit(1);
      assert.deepEqual(examined(await first.explain("executionStats")), [1, 1]);
      const behind = dispatches.find(scheduledBehind(chain)).sort({ dueAt: 1 }).limit(1_000);
      assert.isAtMost(Math.max(...examined(await behind.explain("executionStats"))), 1);
    }).timeout(120_000);

    it("in many transactions are all sent, each in order", async () => {
      const count = 60;
      for (const seq of [1, 2]) {
        for (let n = 0; n < count; n += 1) await outbox.putDurable(`txn_${n}`, [seq], `agt_${n % 4}`);
      }
      const last = new Map<string | null, number>();
      const faults: unknown[] = [];
      const send: Send = ({ orderKey, seq }) => {
        if (seq !== (last.get(orderKey) ?? 0) + 1) faults.push([orderKey, seq]);
        last.set(orderKey, seq);
        return Promise.resolve(ACKNOWLEDGED);
      };
      await outbox.dispatcher(send).drain();
      assert.isEmpty(faults);
      assert.strictEqual(await outbox.models.dispatches.countDocuments({ status: "acknowledged" }), 2 * count);
    }).timeout(120_000);
  });
});
