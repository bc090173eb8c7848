import { assert } from "chai";

import { FUNDED_BACKUP_DELAY_MS, WEBHOOK_RETRIES } from "../../../api/config/constants.ts";
import { NARROW_WIDTH } from "../../../api/features/outbox/lanes.ts";
import { OUTBOX_DEFAULTS } from "../../../api/features/outbox/outbox.ts";
import { ACKNOWLEDGED, DROPPED, REFUSED, scripted, TestOutbox, UNREACHABLE } from "../../fixtures/outbox.ts";

describe("the outbox", () => {
  let outbox: TestOutbox;

  before(async () => {
    outbox = await TestOutbox.open();
  });
  after(() => outbox.close());
  beforeEach(() => outbox.clear());

  it("[S6.38] sends an acknowledged webhook once", async () => {
    const receiver = scripted(ACKNOWLEDGED);
    const id = await outbox.put("escrow.released");
    await outbox.dispatcher(receiver.send).drain();
    await outbox.age(3_600_000);
    await outbox.dispatcher(receiver.send).drain();
    assert.strictEqual(receiver.sent.length, 1);
    assert.strictEqual((await outbox.read(id)).status, "acknowledged");
  });

  it("[S6.37] retries a non-2xx answer only once", async () => {
    assert.strictEqual(WEBHOOK_RETRIES, 1);
    const receiver = scripted(REFUSED);
    const id = await outbox.put("escrow.released");
    for (let round = 0; round < 5; round += 1) {
      await outbox.dispatcher(receiver.send).drain();
      await outbox.age(60_000);
    }
    assert.strictEqual(receiver.sent.length, 2);
    const record = await outbox.read(id);
    assert.strictEqual(record.status, "failed");
    assert.deepEqual(
      record.attempts.map(({ outcome, statusCode }) => [outcome, statusCode]),
      [
        ["refused", 500],
        ["refused", 500],
      ],
    );
    assert.strictEqual(receiver.sent[0]?.eventId, receiver.sent[1]?.eventId);
    assert.strictEqual(receiver.sent[0]?.bodyJson, receiver.sent[1]?.bodyJson);
  });

  it("[S6.37] [S6.38] ends the retry with the first acknowledgement, even after a network failure", async () => {
    const receiver = scripted(UNREACHABLE, ACKNOWLEDGED);
    const id = await outbox.put("service.delivered");
    await outbox.dispatcher(receiver.send).drain();
    await outbox.age(OUTBOX_DEFAULTS.retryDelayMs);
    await outbox.dispatcher(receiver.send).drain();
    assert.strictEqual(receiver.sent.length, 2);
    assert.strictEqual((await outbox.read(id)).status, "acknowledged");
  });

  it("[D39] drops a forbidden target without a retry, and only its owner's log shows it", async () => {
    const receiver = scripted(DROPPED);
    const id = await outbox.put("escrow.released");
    await outbox.dispatcher(receiver.send).drain();
    await outbox.age(3_600_000);
    await outbox.dispatcher(receiver.send).drain();
    assert.strictEqual(receiver.sent.length, 1);
    const record = await outbox.read(id);
    assert.deepEqual([record.status, record.attempts[0]?.error], ["dropped", "private"]);
  });

  it("[S6.39] sends escrow.funded once more, 30 seconds after the immediate attempt, with the same id", async () => {
    assert.strictEqual(FUNDED_BACKUP_DELAY_MS, 30_000);
    const receiver = scripted(ACKNOWLEDGED);
    const id = await outbox.put("escrow.funded");
    // The queue didn't run for a while: the 30 seconds count from the attempt, not from the event.
    await outbox.age(100_000);
    await outbox.dispatcher(receiver.send).drain();
    assert.strictEqual(receiver.sent.length, 1);
    const { eventId, attempts } = await outbox.read(id);
    const backup = await outbox.models.dispatches.findOne({ eventId, kind: "backup" }).lean();
    assert.strictEqual(backup?.dueAt?.getTime(), Number(attempts[0]?.startedAt.getTime()) + 30_000);
    await outbox.age(30_000);
    await outbox.dispatcher(receiver.send).drain();
    assert.strictEqual(receiver.sent.length, 2);
    assert.strictEqual(receiver.sent[1]?.eventId, receiver.sent[0]?.eventId);
    await outbox.age(3_600_000);
    await outbox.dispatcher(receiver.send).drain();
    assert.strictEqual(receiver.sent.length, 2);
  });

  it("[S6.39] sends no other event a second time", async () => {
    for (const event of ["service.delivered", "escrow.released", "escrow.finalized"]) {
      const receiver = scripted(ACKNOWLEDGED);
      await outbox.put(event);
      await outbox.dispatcher(receiver.send).drain();
      await outbox.age(60_000);
      await outbox.dispatcher(receiver.send).drain();
      assert.strictEqual(receiver.sent.length, 1, event);
    }
  });

  it("gives each dispatch to one of several workers, even while others arrive", async () => {
    const receivers = Array.from({ length: 4 }, () => scripted(ACKNOWLEDGED));
    for (let n = 0; n < 24; n += 1) await outbox.put("escrow.released", `agt_${n % 5}`);
    const arriving = (async () => {
      for (let n = 0; n < 24; n += 1) await outbox.put("escrow.released", `agt_${n % 5}`);
    })();
    await Promise.all(receivers.map(({ send }, n) => outbox.dispatcher(send, { owner: `worker-${n}` }).drain()));
    await arriving;
    await Promise.all(receivers.map(({ send }, n) => outbox.dispatcher(send, { owner: `worker-${n}` }).drain()));
    const sent = receivers.flatMap((receiver) => receiver.sent.map(({ eventId }) => eventId));
    assert.strictEqual(sent.length, 48);
    assert.strictEqual(new Set(sent).size, 48);
  });

  it("gives each dispatch to one worker, even if two believe that they have its agent's turn", async () => {
    const agents = Array.from({ length: 20 }, (_, n) => `agt_${n}`);
    for (const agent of agents) await outbox.put("escrow.released", agent);
    const taken = await Promise.all(
      agents.flatMap((agent) => ["one", "other"].map((holder) => outbox.outbox.take(agent, holder, 1))),
    );
    const ids = taken.flatMap(({ dispatches }) => dispatches.map(({ _id }) => _id));
    assert.lengthOf(ids, agents.length);
    assert.lengthOf(new Set(ids), agents.length);
  });

  it("sends again, after its lease, what a killed worker had started, and keeps the one retry", async () => {
    const id = await outbox.put("escrow.released");
    assert.strictEqual((await outbox.takeAndDie())?._id, id);
    const receiver = scripted(REFUSED);
    await outbox.dispatcher(receiver.send).drain();
    assert.strictEqual(receiver.sent.length, 0, "the lease still holds");
    await outbox.age(OUTBOX_DEFAULTS.leaseMs);
    await outbox.dispatcher(receiver.send).drain();
    await outbox.age(OUTBOX_DEFAULTS.retryDelayMs);
    await outbox.dispatcher(receiver.send).drain();
    assert.strictEqual(receiver.sent.length, 2);
    const record = await outbox.read(id);
    assert.deepEqual(
      record.attempts.map(({ outcome }) => outcome),
      ["interrupted", "refused", "refused"],
    );
    assert.strictEqual(record.status, "failed");
  });

  it("gives up a dispatch that kills its worker every time", async () => {
    const id = await outbox.put("escrow.released");
    for (let n = 0; n < 4; n += 1) {
      assert.isDefined(await outbox.takeAndDie());
      await outbox.age(OUTBOX_DEFAULTS.leaseMs);
    }
    await outbox.dispatcher(scripted(REFUSED).send).drain();
    assert.strictEqual((await outbox.read(id)).status, "failed");
  });

  it("gives up a dispatch whose workers never report a result, and continues with the next", async () => {
    const id = await outbox.put("escrow.released");
    for (let n = 0; n < 5; n += 1) {
      assert.strictEqual((await outbox.takeAndDie())?._id, id);
      await outbox.age(OUTBOX_DEFAULTS.leaseMs);
    }
    const next = await outbox.put("escrow.released");
    const receiver = scripted(ACKNOWLEDGED);
    await outbox.dispatcher(receiver.send).drain();
    assert.strictEqual(receiver.sent.length, 1);
    assert.strictEqual((await outbox.read(next)).status, "acknowledged");
    const record = await outbox.read(id);
    assert.deepEqual([record.status, record.holder], ["failed", null]);
    assert.deepEqual(
      record.attempts.map(({ outcome }) => outcome),
      Array.from({ length: 5 }, () => "interrupted"),
    );
  });

  it("ignores a worker whose lease has passed to another", async () => {
    const id = await outbox.put("escrow.released");
    const slow = await outbox.takeAndDie();
    assert.isDefined(slow);
    await outbox.age(OUTBOX_DEFAULTS.leaseMs);
    const quick = await outbox.takeAndDie();
    assert.isDefined(quick);
    await outbox.outbox.finish(slow, REFUSED);
    assert.strictEqual((await outbox.read(id)).holder, quick.holder);
    await outbox.outbox.finish(quick, ACKNOWLEDGED);
    assert.strictEqual((await outbox.read(id)).status, "acknowledged");
  });

  it("leaves a lane to the worker that has taken it over when the first one ends its turn", async () => {
    const agentId = "agt_seller";
    const end = { isSlow: false, width: NARROW_WIDTH, isEmpty: true };
    await outbox.put("escrow.released", agentId);
    await outbox.lanes.admit();
    for (const holder of ["first", "second"]) {
      const claimed = await outbox.lanes.claim(false, 1, () => holder);
      assert.deepEqual(
        claimed.map((lane) => lane.holder),
        [holder],
      );
      if (holder === "first") await outbox.age(OUTBOX_DEFAULTS.leaseMs);
    }
    const holder = async () => (await outbox.models.lanes.findById(agentId).lean())?.holder;
    await outbox.lanes.release(agentId, "first", end);
    assert.strictEqual(await holder(), "second");
    await outbox.lanes.release(agentId, "second", end);
    assert.isNull(await holder());
  });

  it("keeps an error text that looks like a path of the database", async () => {
    const id = await outbox.put("escrow.released");
    const error = "$status";
    await outbox.dispatcher(scripted({ ...REFUSED, error }).send).drain();
    assert.strictEqual((await outbox.read(id)).attempts[0]?.error, error);
  });
});
