import { once } from "node:events";

import { assert } from "chai";

import { createCriteriaEvaluator } from "../../../api/features/criteria/evaluator.ts";
import type { DisputeCase, Judge, Judgement } from "../../../api/features/disputes/judging/case.ts";
import { createDisputeBook } from "../../../api/features/disputes/book.ts";
import { disputeModel } from "../../../api/features/disputes/model.ts";
import type { DisputeModel, DisputeRecord } from "../../../api/features/disputes/model.ts";
import type { RulingToSend } from "../../../api/features/disputes/ports.ts";
import { createRuler } from "../../../api/features/disputes/ruler.ts";
import { rationaleHashOf } from "../../../api/features/disputes/ruling-document.ts";
import type { RulingDocument } from "../../../api/features/disputes/ruling-document.ts";
import { createRulings } from "../../../api/features/disputes/rulings.ts";
import { disputeIdOf } from "../../../api/features/transactions/dispute-id.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { created, followerBench, moved } from "../../fixtures/follower.ts";
import { until } from "../../fixtures/until.ts";

const CRITERIA = {
  ...{ serviceId: "lst_1", sellerAgentId: "agt_seller", title: "Report", description: "A report", category: "other" },
  ...{ price: 1, priceUnit: "flat", currency: "USDC", quantity: 1, requestPayload: null },
  criteria: { checks: ["cel: words(result.summary) >= 2"] },
};
const EVIDENCE_SECONDS = 172_800;
const GRACE_SECONDS = 60;

const VERDICT: Judgement = {
  ...{ outcome: "Split", judge: "embedded", reasons: ["Nobody can say."], model: null, removed: [] },
  inputHash: `0x${"1".repeat(64)}`,
};

describe("the ruler of disputes", () => {
  const bench = followerBench();
  const evaluator = createCriteriaEvaluator();
  const log = createLogger({ level: "silent", name: "test" });
  const running = new AbortController();
  let disputes: DisputeModel;
  let seen: DisputeCase[];
  /** The chain's time in unix seconds. */
  let time: number;

  before(() => {
    disputes = disputeModel(bench.connection);
  });
  after(() => evaluator.close());
  beforeEach(async () => {
    seen = [];
    await sentRulings().deleteMany({});
  });
  const sentRulings = () => bench.connection.collection<RulingToSend>("sent_rulings");
  const sent = () =>
    sentRulings()
      .find({}, { projection: { _id: 0 } })
      .toArray();

  const judge: Judge = {
    judge: (dispute) => {
      seen.push(dispute);
      return Promise.resolve(VERDICT);
    },
  };

  /** A worker of its own. */
  function ruler(options: { judge?: Judge } = {}) {
    const store = createRulings({
      ...{ connection: bench.connection, disputes, transactions: bench.transactions, now: bench.now },
      sending: {
        // In the transaction, so that a ruling that isn't stored leaves nothing here.
        put: async (ruling, session) => {
          await sentRulings().insertOne({ ...ruling }, { session });
          return true;
        },
        replace: () => Promise.resolve(false),
      },
    });
    return createRuler({
      ...{ network: "base-sepolia", disputes, transactions: bench.transactions, evaluator, store, log, now: bench.now },
      judge: options.judge ?? judge,
      chainTime: { latest: () => Promise.resolve(time), saw: () => undefined },
      timings: { rulingPollMs: 10, judgeLeaseMs: 60_000 },
    });
  }
  const step = (worker = ruler()) => worker.step(running.signal);

  async function disputed(fields: Partial<TransactionRecord> = {}): Promise<TransactionRecord> {
    const record = await bench.checkout({ criteriaJson: JSON.stringify(CRITERIA), ...fields });
    bench.indexer.mine([created(record), moved(record, "DeliverySubmitted"), moved(record, "DisputeOpened")]);
    await bench.follower().step();
    const { escrow } = await bench.read(record);
    time = escrow?.disputedAt ?? 0;
    return bench.read(record);
  }
  const handedOver = { responsePayloadJson: '{"summary":"a report"}', payloadReceivedAt: new Date(0) };

  async function read(record: TransactionRecord): Promise<DisputeRecord> {
    const dispute = await disputes.findById(disputeIdOf(record)).lean<DisputeRecord | null>();
    assert.ok(dispute !== null);
    return dispute;
  }
  const documentOf = ({ ruling }: DisputeRecord) => JSON.parse(ruling?.documentJson ?? "{}") as RulingDocument;

  it("[D26] [S8.1.05] [S1.05] rules at the end of the evidence period, even if nobody speaks", async () => {
    const record = await disputed(handedOver);
    time += EVIDENCE_SECONDS - 1;
    assert.strictEqual(await step(), 0);
    assert.isNull((await read(record)).closedAt);
    time += 1;
    assert.strictEqual(await step(), 1);
    const { ruling, closedAt, dueAt } = await read(record);
    assert.deepEqual([ruling?.outcome, ruling?.buyerPercent, ruling?.ruledBy], ["Split", 50, "system"]);
    assert.isNotNull(closedAt);
    assert.isNull(dueAt);
    assert.strictEqual(await step(), 0);
    assert.lengthOf(await sent(), 1);
  });

  it("[D26] [S3.2.27] [S1.06] sees what the parties said, the facts and the criteria", async () => {
    const record = await disputed(handedOver);
    const item = {
      evidenceId: "evi_1",
      type: "other",
      description: "So it is",
      attachments: [],
      submittedAt: bench.now(),
    };
    await disputes.updateOne(
      { _id: disputeIdOf(record) },
      { $set: { "evidence.seller": [item], reason: { text: "Too short", givenAt: bench.now() } } },
    );
    time += EVIDENCE_SECONDS;
    await step();
    const [found] = seen;
    assert.deepEqual(
      [found?.reason, found?.evidence[0]?.description, found?.evidence[0]?.by],
      ["Too short", "So it is", "seller"],
    );
    assert.deepEqual(found?.criteria, CRITERIA);
    assert.deepEqual(
      found?.checks.map(({ kind, result }) => [kind, result]),
      [["expression", "pass"]],
    );
    assert.deepEqual(found?.payload, { summary: "a report" });
    assert.strictEqual(found?.handover, "in_time");
  });

  it("[D8] stores the canonical document whose hash is sent", async () => {
    const record = await disputed(handedOver);
    time += EVIDENCE_SECONDS;
    await step();
    const dispute = await read(record);
    const document = documentOf(dispute);
    assert.strictEqual(rationaleHashOf(dispute.ruling?.documentJson ?? ""), dispute.ruling?.rationaleHash);
    const expected: RulingToSend[] = [
      {
        ...{ disputeId: dispute._id, network: "base-sepolia", escrowId: record.escrowId, role: "system" },
        ...{ outcome: "Split", buyerPercent: 50, rationaleHash: dispute.ruling?.rationaleHash ?? "0x" },
      },
    ];
    assert.deepEqual(await sent(), expected);
    assert.include(document, { escrowId: record.escrowId, criteriaHash: record.criteriaHash, outcome: "Split" });
    assert.deepEqual(document.reasons, VERDICT.reasons);
  });

  it("[D26] gives the seller its 60 seconds for the payload before it rules", async () => {
    const record = await disputed();
    const deliveredAt = record.escrow?.deliveredAt ?? 0;
    await disputes.updateOne({ _id: disputeIdOf(record) }, { $set: { dueAt: new Date(time * 1_000) } });
    time = Math.max(time, deliveredAt + GRACE_SECONDS);
    assert.strictEqual(await step(), 1);
    const waiting = await read(record);
    assert.deepEqual([waiting.ruling, waiting.closedAt], [null, null]);
    assert.strictEqual(await step(), 0);
    time = deliveredAt + GRACE_SECONDS + 1;
    await step();
    assert.strictEqual((await read(record)).ruling?.outcome, "Split");
    assert.strictEqual(seen[0]?.handover, "none");
  });

  it("tells a payload that came late from one that came after the dispute", async () => {
    const late = await disputed();
    const deliveredAt = late.escrow?.deliveredAt ?? 0;
    const at = async (receivedAt: number, disputedAt: number) => {
      await bench.transactions.updateOne(
        { _id: late._id },
        { $set: { ...handedOver, payloadReceivedAt: new Date(receivedAt * 1_000) } },
      );
      await bench.transactions.updateOne({ _id: late._id }, { $set: { "escrow.disputedAt": disputedAt } });
      await disputes.updateOne(
        { _id: disputeIdOf(late) },
        { $set: { disputedAt, ruling: null, closedAt: null, dueAt: new Date(0) } },
      );
      await step();
      return seen.at(-1)?.handover;
    };
    const end = deliveredAt + GRACE_SECONDS;
    assert.strictEqual(await at(end, end + 100), "in_time");
    assert.strictEqual(await at(end + 1, end + 100), "late");
    assert.strictEqual(await at(end + 101, end + 100), "after_dispute");
    assert.strictEqual(await at(end, deliveredAt + 1), "in_time");
  });

  it("never rules twice: two workers that judged the same dispute store one ruling", async () => {
    const record = await disputed(handedOver);
    time += EVIDENCE_SECONDS;
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let waiting = 0;
    const slow = (outcome: Judgement["outcome"]): Judge => ({
      judge: async () => {
        waiting += 1;
        if (waiting === 2) release();
        await gate;
        return { ...VERDICT, outcome };
      },
    });
    const first = step(ruler({ judge: slow("BuyerRefund") }));
    await until("the first worker judges", async () => (await read(record)).closedAt !== null);
    // The first worker was paused past its lease.
    time += 3_600;
    await Promise.all([first, step(ruler({ judge: slow("SellerPaid") }))]);
    const rulings = await sent();
    assert.lengthOf(rulings, 1);
    assert.strictEqual((await read(record)).ruling?.rationaleHash, rulings[0]?.rationaleHash);
  });

  it("tries again later when judging fails, and gives nothing up", async () => {
    const record = await disputed(handedOver);
    time += EVIDENCE_SECONDS;
    const broken = ruler({ judge: { judge: () => Promise.reject(new Error("the encoder is gone")) } });
    assert.strictEqual(await step(broken), 1);
    const failed = await read(record);
    assert.deepEqual([failed.ruling, failed.attempts, failed.lastError], [null, 1, "the encoder is gone"]);
    assert.isAbove(failed.dueAt?.getTime() ?? 0, time * 1_000);
    assert.strictEqual(await step(broken), 0);
    time += 60;
    assert.strictEqual(await step(), 1);
    const ruled = await read(record);
    assert.deepEqual([ruled.ruling?.outcome, ruled.lastError], ["Split", null]);
  });

  it("takes over from a worker that was killed, once its lease has ended", async () => {
    const record = await disputed(handedOver);
    time += EVIDENCE_SECONDS;
    const stopped = new AbortController();
    const hangs: Judge = {
      judge: async (_, signal) => {
        await once(signal, "abort");
        throw new Error("the worker has stopped");
      },
    };
    const hanging = ruler({ judge: hangs });
    const killed = hanging.step(stopped.signal);
    await until("the first worker judges", async () => (await read(record)).closedAt !== null);
    assert.strictEqual(await step(), 0);
    time += 60;
    assert.strictEqual(await step(), 1);
    assert.strictEqual((await read(record)).ruling?.outcome, "Split");
    stopped.abort();
    await killed;
    assert.lengthOf(await sent(), 1);
  });

  describe("with a case that isn't what it was", () => {
    const item = (evidenceId: string) => ({
      ...{ evidenceId, type: "other" as const, description: "So it is", attachments: [], submittedAt: bench.now() },
    });
    /** Judges after something has happened. */
    const meanwhile = (happens: () => Promise<unknown>): Judge => ({
      judge: async () => {
        await happens();
        return VERDICT;
      },
    });

    it("[D26] waits until the follower has applied what the subgraph shows", async () => {
      const record = await disputed(handedOver);
      time += EVIDENCE_SECONDS;
      const { escrow } = record;
      await bench.transactions.updateOne({ _id: record._id }, { $set: { status: "funded", escrow: null } });
      assert.strictEqual(await step(), 1);
      assert.isNull((await read(record)).ruling);
      await bench.transactions.updateOne({ _id: record._id }, { $set: { status: "disputed", escrow } });
      time += 60;
      await step();
      assert.strictEqual(seen[0]?.handover, "in_time");
      assert.isNotNull((await read(record)).ruling);
    });

    it("judges again what a party or the chain changes while it judges", async () => {
      const changes = (record: TransactionRecord): Record<string, () => Promise<unknown>> => ({
        payload: () =>
          bench.transactions.updateOne(
            { _id: record._id },
            { $set: { ...handedOver, deliveryProof: record.escrowId } },
          ),
        evidence: () =>
          disputes.updateOne({ _id: disputeIdOf(record) }, { $push: { "evidence.buyer": item("evi_late") } }),
        dispute: () => disputes.updateOne({ _id: disputeIdOf(record) }, { $inc: { disputedAt: 1 } }),
      });
      for (const change of ["payload", "evidence", "dispute"]) {
        const record = await disputed();
        time += EVIDENCE_SECONDS;
        const worker = ruler({
          judge: meanwhile(changes(record)[change] ?? (() => Promise.reject(new Error(change)))),
        });
        assert.strictEqual(await step(worker), 1);
        const { ruling, dueAt } = await read(record);
        assert.isNull(ruling, change);
        assert.isNotNull(dueAt, change);
        await disputes.deleteOne({ _id: disputeIdOf(record) });
      }
      assert.deepEqual(await sent(), []);
    });

    it("takes no dispute that isn't open, whatever its record says", async () => {
      const record = await disputed(handedOver);
      await disputes.updateOne({ _id: disputeIdOf(record) }, { $set: { isOpen: false, dueAt: new Date(0) } });
      assert.strictEqual(await step(), 0);
    });

    it("rules although a check quotes half of a character", async () => {
      const checks = ["cel: result[result.summary.substring(0, 1)] == 1"];
      const record = await disputed({
        criteriaJson: JSON.stringify({ ...CRITERIA, criteria: { checks } }),
        responsePayloadJson: JSON.stringify({ summary: "\u{1F600}" }),
        payloadReceivedAt: new Date(0),
      });
      time += EVIDENCE_SECONDS;
      await step();
      assert.strictEqual(documentOf(await read(record)).checks[0]?.result, "fail");
    });
  });

  describe("with a reorganisation", () => {
    it("[D26] takes evidence again when a dispute whose judging had begun is opened again", async () => {
      const record = await disputed(handedOver);
      const height = bench.indexer.height - 1;
      await disputes.updateOne({ _id: disputeIdOf(record) }, { $set: { closedAt: bench.now() } });
      bench.indexer.rollBackTo(height);
      bench.indexer.mine();
      bench.indexer.mine([created(record), moved(record, "DeliverySubmitted"), moved(record, "DisputeOpened")]);
      await bench.follower().step();
      const again = await read(record);
      assert.isAbove(again.disputedAt ?? 0, record.escrow?.disputedAt ?? Infinity);
      assert.isNull(again.closedAt);
    });

    it("[D26] rules nothing while the dispute is gone, and begins a new period when it is opened again", async () => {
      const record = await bench.checkout({ criteriaJson: JSON.stringify(CRITERIA), ...handedOver });
      bench.indexer.mine([created(record), moved(record, "DeliverySubmitted")]);
      await bench.follower().step();
      const height = bench.indexer.height;
      bench.indexer.mine([moved(record, "DisputeOpened")]);
      await bench.follower().step();
      const first = await read(record);
      bench.indexer.rollBackTo(height);
      bench.indexer.mine();
      bench.indexer.mine();
      await bench.follower().step();
      const gone = await read(record);
      assert.deepEqual([gone.isOpen, gone.disputedAt, gone.dueAt], [false, null, null]);
      time = (first.disputedAt ?? 0) + EVIDENCE_SECONDS;
      assert.strictEqual(await step(), 0);
      bench.indexer.mine([moved(record, "DisputeOpened")]);
      await bench.follower().step();
      const again = await read(record);
      assert.isTrue(again.isOpen);
      assert.strictEqual(again.evidenceEndsAt.getTime(), ((again.disputedAt ?? 0) + EVIDENCE_SECONDS) * 1_000);
      assert.isAbove(again.disputedAt ?? 0, first.disputedAt ?? Infinity);
      time = (again.disputedAt ?? 0) + EVIDENCE_SECONDS;
      assert.strictEqual(await step(), 1);
    });

    it("isn't undone by a reading of the subgraph that is older than the follower's", async () => {
      const book = createDisputeBook({ disputes, evidenceSeconds: EVIDENCE_SECONDS, now: bench.now });
      const record = await disputed(handedOver);
      const disputedAt = record.escrow?.disputedAt ?? 0;
      for (const known of [
        { disputedAt, isOpen: false, dueAt: null },
        { disputedAt: null, isOpen: false, dueAt: null },
      ]) {
        await disputes.updateOne({ _id: disputeIdOf(record) }, { $set: known });
        await book.open(record, disputedAt);
        assert.include(await read(record), known);
      }
    });

    it("is opened by whatever shows it first, and stays the same", async () => {
      const book = createDisputeBook({ disputes, evidenceSeconds: EVIDENCE_SECONDS, now: bench.now });
      const record = await disputed(handedOver);
      const byFollower = await read(record);
      await disputes.deleteOne({ _id: byFollower._id });
      const opened = await Promise.all([1, 2].map(() => book.open(record, record.escrow?.disputedAt ?? 0)));
      const { createdAt, ...rest } = byFollower;
      assert.isTrue(opened.every((one) => one.createdAt.getTime() >= createdAt.getTime()));
      for (const one of opened) assert.deepInclude(one, rest);
    });

    it("keeps the ruling of a dispute that is opened again", async () => {
      const record = await disputed(handedOver);
      const height = bench.indexer.height - 1;
      time += EVIDENCE_SECONDS;
      await step();
      const { ruling } = await read(record);
      bench.indexer.rollBackTo(height);
      bench.indexer.mine([created(record), moved(record, "DeliverySubmitted"), moved(record, "DisputeOpened")]);
      bench.indexer.mine();
      await bench.follower().step();
      time += 10 * EVIDENCE_SECONDS;
      assert.strictEqual(await step(), 0);
      assert.deepEqual((await read(record)).ruling, ruling);
    });
  });

  it("[D26] isn't needed once the parties have agreed", async () => {
    const record = await disputed(handedOver);
    bench.indexer.mine([moved(record, "EscrowResolved", { outcome: "Split", buyerPercent: 30 })]);
    await bench.follower().step();
    time += EVIDENCE_SECONDS;
    assert.strictEqual(await step(), 0);
    assert.deepEqual([(await read(record)).isOpen, (await read(record)).ruling], [false, null]);
  });
});
