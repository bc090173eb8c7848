import { once } from "node:events";

import { assert } from "chai";

import type { Judge, Judgement } from "../../../api/features/disputes/judging/case.ts";
import type { DisputeRecord } from "../../../api/features/disputes/model.ts";
import type { RulingToSend } from "../../../api/features/disputes/ports.ts";
import { hashRationale } from "../../../api/features/disputes/ruling-document.ts";
import type { RulingDocument } from "../../../api/features/disputes/ruling-document.ts";
import { disputeIdOf } from "../../../api/features/transactions/dispute-id.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { moved } from "../../fixtures/follower.ts";
import { CRITERIA, EVIDENCE_SECONDS, handedOver, rulerBench, VERDICT } from "../../fixtures/ruler.ts";
import { until } from "../../fixtures/until.ts";

const GRACE_SECONDS = 60;
const documentOf = ({ ruling }: DisputeRecord) => JSON.parse(ruling?.documentJson ?? "{}") as RulingDocument;

describe("the ruler of disputes", () => {
  const scene = rulerBench();
  const { bench, ruler, step, disputed, read, sent } = scene;

  it("[D26] [S8.1.05] [S1.05] rules at the end of the evidence period, even if nobody speaks", async () => {
    const record = await disputed(handedOver);
    scene.time += EVIDENCE_SECONDS - 1;
    assert.strictEqual(await step(), 0);
    assert.isNull((await read(record)).closedAt);
    scene.time += 1;
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
    await scene.disputes.updateOne(
      { _id: disputeIdOf(record) },
      { $set: { "evidence.seller": [item], reason: { text: "Too short", givenAt: bench.now() } } },
    );
    scene.time += EVIDENCE_SECONDS;
    await step();
    const [found] = scene.seen;
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
    scene.time += EVIDENCE_SECONDS;
    await step();
    const dispute = await read(record);
    const document = documentOf(dispute);
    assert.strictEqual(hashRationale(dispute.ruling?.documentJson ?? ""), dispute.ruling?.rationaleHash);
    const expected: RulingToSend[] = [
      {
        disputeId: dispute._id,
        network: "base-sepolia",
        escrowId: record.escrowId,
        role: "system",
        outcome: "Split",
        buyerPercent: 50,
        rationaleHash: dispute.ruling?.rationaleHash ?? "0x",
      },
    ];
    assert.deepEqual(await sent(), expected);
    assert.include(document, { escrowId: record.escrowId, criteriaHash: record.criteriaHash, outcome: "Split" });
    assert.deepEqual(document.reasons, VERDICT.reasons);
  });

  it("[D26] gives the seller its 60 seconds for the payload before it rules", async () => {
    const record = await disputed();
    const deliveredAt = record.escrow?.deliveredAt ?? 0;
    await scene.disputes.updateOne({ _id: disputeIdOf(record) }, { $set: { dueAt: new Date(scene.time * 1_000) } });
    scene.time = Math.max(scene.time, deliveredAt + GRACE_SECONDS);
    assert.strictEqual(await step(), 1);
    const waiting = await read(record);
    assert.deepEqual([waiting.ruling, waiting.closedAt], [null, null]);
    assert.strictEqual(await step(), 0);
    scene.time = deliveredAt + GRACE_SECONDS + 1;
    await step();
    assert.strictEqual((await read(record)).ruling?.outcome, "Split");
    assert.strictEqual(scene.seen[0]?.handover, "none");
  });

  it("[D26] tells a payload that came late, or by its time but after the dispute, from one that came after both", async () => {
    const late = await disputed();
    const deliveredAt = late.escrow?.deliveredAt ?? 0;
    const at = async (receivedAt: number, disputedAt: number) => {
      await bench.transactions.updateOne(
        { _id: late._id },
        { $set: { ...handedOver, payloadReceivedAt: new Date(receivedAt * 1_000) } },
      );
      await bench.transactions.updateOne({ _id: late._id }, { $set: { "escrow.disputedAt": disputedAt } });
      await scene.disputes.updateOne(
        { _id: disputeIdOf(late) },
        { $set: { disputedAt, ruling: null, closedAt: null, dueAt: new Date(0) } },
      );
      await step();
      return scene.seen.at(-1)?.handover;
    };
    const end = deliveredAt + GRACE_SECONDS;
    assert.strictEqual(await at(end, end + 100), "in_time");
    assert.strictEqual(await at(end + 1, end + 100), "late");
    assert.strictEqual(await at(end + 101, end + 100), "after_dispute");
    assert.strictEqual(await at(deliveredAt + 1, deliveredAt + 1), "in_time");
    assert.strictEqual(await at(deliveredAt + 2, deliveredAt + 1), "late");
    assert.strictEqual(await at(end, deliveredAt + 1), "late");
    assert.strictEqual(await at(end + 1, deliveredAt + 1), "after_dispute");
  });

  it("never rules twice: two workers that judged the same dispute store one ruling", async () => {
    const record = await disputed(handedOver);
    scene.time += EVIDENCE_SECONDS;
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
    scene.time += 3_600;
    await Promise.all([first, step(ruler({ judge: slow("SellerPaid") }))]);
    const rulings = await sent();
    assert.lengthOf(rulings, 1);
    assert.strictEqual((await read(record)).ruling?.rationaleHash, rulings[0]?.rationaleHash);
  });

  it("tries again later when judging fails, and gives nothing up", async () => {
    const record = await disputed(handedOver);
    scene.time += EVIDENCE_SECONDS;
    const broken = ruler({ judge: { judge: () => Promise.reject(new Error("the encoder is gone")) } });
    assert.strictEqual(await step(broken), 1);
    const failed = await read(record);
    assert.deepEqual([failed.ruling, failed.attempts, failed.lastError], [null, 1, "the encoder is gone"]);
    assert.isAbove(failed.dueAt?.getTime() ?? 0, scene.time * 1_000);
    assert.strictEqual(await step(broken), 0);
    scene.time += 60;
    assert.strictEqual(await step(), 1);
    const ruled = await read(record);
    assert.deepEqual([ruled.ruling?.outcome, ruled.lastError], ["Split", null]);
  });

  it("takes over from a worker that was killed, once its lease has ended", async () => {
    const record = await disputed(handedOver);
    scene.time += EVIDENCE_SECONDS;
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
    scene.time += 60;
    assert.strictEqual(await step(), 1);
    assert.strictEqual((await read(record)).ruling?.outcome, "Split");
    stopped.abort();
    await killed;
    assert.lengthOf(await sent(), 1);
  });

  describe("with a case that isn't what it was", () => {
    const item = (evidenceId: string) => ({
      evidenceId,
      type: "other" as const,
      description: "So it is",
      attachments: [],
      submittedAt: bench.now(),
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
      scene.time += EVIDENCE_SECONDS;
      const { escrow } = record;
      await bench.transactions.updateOne({ _id: record._id }, { $set: { status: "funded", escrow: null } });
      assert.strictEqual(await step(), 1);
      assert.isNull((await read(record)).ruling);
      await bench.transactions.updateOne({ _id: record._id }, { $set: { status: "disputed", escrow } });
      scene.time += 60;
      await step();
      assert.strictEqual(scene.seen[0]?.handover, "in_time");
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
          scene.disputes.updateOne({ _id: disputeIdOf(record) }, { $push: { "evidence.buyer": item("evi_late") } }),
        dispute: () => scene.disputes.updateOne({ _id: disputeIdOf(record) }, { $inc: { disputedAt: 1 } }),
      });
      for (const change of ["payload", "evidence", "dispute"]) {
        const record = await disputed();
        scene.time += EVIDENCE_SECONDS;
        const worker = ruler({
          judge: meanwhile(changes(record)[change] ?? (() => Promise.reject(new Error(change)))),
        });
        assert.strictEqual(await step(worker), 1);
        const { ruling, dueAt } = await read(record);
        assert.isNull(ruling, change);
        assert.isNotNull(dueAt, change);
        await scene.disputes.deleteOne({ _id: disputeIdOf(record) });
      }
      assert.deepEqual(await sent(), []);
    });

    it("takes no dispute that isn't open, whatever its record says", async () => {
      const record = await disputed(handedOver);
      await scene.disputes.updateOne({ _id: disputeIdOf(record) }, { $set: { isOpen: false, dueAt: new Date(0) } });
      assert.strictEqual(await step(), 0);
    });

    it("rules although a check quotes half of a character", async () => {
      const checks = ["cel: result[result.summary.substring(0, 1)] == 1"];
      const record = await disputed({
        criteriaJson: JSON.stringify({ ...CRITERIA, criteria: { checks } }),
        responsePayloadJson: JSON.stringify({ summary: "\u{1F600}" }),
        payloadReceivedAt: new Date(0),
      });
      scene.time += EVIDENCE_SECONDS;
      await step();
      assert.strictEqual(documentOf(await read(record)).checks[0]?.result, "fail");
    });
  });

  it("rules the others while a case takes long", async () => {
    const hanging = Promise.withResolvers<Judgement>();
    const deals = [];
    for (let deal = 0; deal < 6; deal += 1) deals.push(await disputed(handedOver));
    scene.time += EVIDENCE_SECONDS;
    let cases = 0;
    const judge: Judge = { judge: () => ((cases += 1) === 1 ? hanging.promise : Promise.resolve(VERDICT)) };
    const stopping = new AbortController();
    const running = scene.ruler({ judge }).loop.run(stopping.signal);
    await until("all but one are ruled", async () => (await scene.disputes.countDocuments({ ruling: null })) === 1);
    hanging.resolve(VERDICT);
    await until("all are ruled", async () => (await scene.disputes.countDocuments({ ruling: null })) === 0);
    stopping.abort();
    await running;
    assert.strictEqual(cases, deals.length);
  });

  it("[D26] isn't needed once the parties have agreed", async () => {
    const record = await disputed(handedOver);
    bench.indexer.mine([moved(record, "EscrowResolved", { outcome: "Split", buyerPercent: 30 })]);
    await bench.follower().step();
    scene.time += EVIDENCE_SECONDS;
    assert.strictEqual(await step(), 0);
    assert.deepEqual([(await read(record)).isOpen, (await read(record)).ruling], [false, null]);
  });
});
