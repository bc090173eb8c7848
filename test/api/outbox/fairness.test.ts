import { assert } from "chai";

import { FULL_WIDTH, NARROW_WIDTH } from "../../../api/features/outbox/lanes.ts";
import { SLOT_LIMITS } from "../../../api/features/outbox/slots.ts";
import { HoldingReceivers, scripted, ACKNOWLEDGED, TestOutbox } from "../../fixtures/outbox.ts";
import { until } from "../../fixtures/until.ts";

/** As in the measurements of 2026: sellers whose endpoints hang, and the deals of each. */
const HANGING_SELLERS = 40;
const DEALS_EACH = 5;

/**
 * Leases and retries run by the database's clock, which the tests can't stop. However slow the machine is, no lease may
 * end while a receiver hangs, and no retry may become due before a test lets time pass.
 */
const HOUR_MS = 3_600_000;

const isHanging = (agentId: string): boolean => agentId.startsWith("agt_hang");

describe("the outbox, with receivers that hang", () => {
  let outbox: TestOutbox;
  let receivers: HoldingReceivers;
  let stopped: Promise<void> | undefined;
  let stopping: AbortController;

  before(async () => {
    outbox = await TestOutbox.open({ leaseMs: HOUR_MS, retryDelayMs: HOUR_MS });
  });
  after(() => outbox.close());
  beforeEach(async () => {
    await outbox.clear();
    receivers = new HoldingReceivers(isHanging);
    stopping = new AbortController();
    stopped = undefined;
  });
  afterEach(async () => {
    stopping.abort();
    receivers.giveUp();
    await stopped;
  });

  function start(options: Parameters<TestOutbox["dispatcher"]>[1] = {}) {
    const dispatcher = outbox.dispatcher(receivers.send, options);
    stopped = dispatcher.run(stopping.signal);
    return dispatcher;
  }

  it("sends a healthy seller's webhooks while forty hanging sellers have as many open as they can", async () => {
    for (let n = 0; n < HANGING_SELLERS; n += 1) await outbox.fill(`agt_hang_${n}`, DEALS_EACH);
    start();
    await until("every hanging seller holds its share", () =>
      Promise.resolve(receivers.open.size >= HANGING_SELLERS * NARROW_WIDTH),
    );
    await outbox.put("escrow.funded", "agt_healthy", "evt_healthy");
    await until("the healthy seller's arrives", () => Promise.resolve(receivers.acknowledged.length > 0));
    assert.deepEqual(receivers.acknowledged, ["evt_healthy"]);
    assert.strictEqual(receivers.open.size, HANGING_SELLERS * NARROW_WIDTH, "all others are still open");
  });

  it("never gives a hanging agent more than a narrow lane, regardless of its queue", async () => {
    await outbox.fill("agt_hang", 100);
    const first = start();
    const second = outbox.dispatcher(receivers.send, { owner: "worker-2" });
    const alsoStopped = second.run(stopping.signal);
    await until("its lane is full", () => Promise.resolve(receivers.open.size >= NARROW_WIDTH));
    for (let n = 0; n < 5; n += 1) {
      await outbox.put("escrow.released", "agt_hang");
      await outbox.put("escrow.released", "agt_healthy");
      first.wake();
      second.wake();
      await until("the healthy agent's arrives", () => Promise.resolve(receivers.acknowledged.length > n));
    }
    assert.strictEqual(receivers.openOf("agt_hang"), NARROW_WIDTH, "two workers share one lane");
    stopping.abort();
    await alsoStopped;
  });

  it("keeps slots for unknown agents when agents known to hang could fill them all", async () => {
    const slots = { ...SLOT_LIMITS, total: 8, slow: 4 };
    const known = Array.from({ length: 20 }, (_, n) => `agt_hang_${n}`);
    for (const agentId of known) await outbox.put("escrow.released", agentId);
    const first = outbox.dispatcher(receivers.send, { slots });
    const firstRound = first.drain();
    const over = new AbortController();
    const end = (): void => {
      over.abort();
    };
    void firstRound.then(end, end);
    // Each of them hangs once as an unknown agent. The dispatcher knows once the time for a prompt answer is over.
    while (!over.signal.aborted) {
      await until("some are open, or all have hung", () =>
        Promise.resolve(over.signal.aborted || receivers.open.size > 0),
      );
      outbox.elapsedMs += slots.promptMs + 1;
      receivers.giveUp();
    }
    assert.strictEqual(await firstRound, known.length);
    assert.strictEqual(await outbox.models.lanes.countDocuments({ isSlow: true }), known.length);

    await outbox.age(HOUR_MS);
    start({ slots });
    await until("the slow half is full", () => Promise.resolve(receivers.open.size >= slots.slow));
    for (let n = 0; n < 6; n += 1) {
      await outbox.put("escrow.released", `agt_stranger_${n}`);
      await until("the stranger's arrives", () => Promise.resolve(receivers.acknowledged.length > n));
      assert.strictEqual(receivers.open.size, slots.slow);
    }
  });

  it("gives a slow agent its full width again once it has recovered", async () => {
    await outbox.put("escrow.released", "agt_hang");
    const draining = outbox.dispatcher(receivers.send).drain();
    await until("it hangs", () => Promise.resolve(receivers.open.size === 1));
    outbox.elapsedMs += SLOT_LIMITS.promptMs + 1;
    receivers.giveUp();
    await draining;
    const lane = () => outbox.models.lanes.findById("agt_hang").lean();
    assert.include(await lane(), { isSlow: true, width: NARROW_WIDTH });
    await outbox.fill("agt_hang", 6);
    await outbox.age(HOUR_MS);
    assert.strictEqual(await outbox.dispatcher(scripted(ACKNOWLEDGED).send).drain(), 7);
    assert.include(await lane(), { isSlow: false, width: FULL_WIDTH, nextDueAt: null, holder: null });
  });

  it("sends what arrives for an agent while another of its requests hangs", async () => {
    receivers = new HoldingReceivers(() => true);
    start();
    await outbox.put("escrow.released", "agt_hang", "evt_first");
    await until("the first is open", () => Promise.resolve(receivers.open.has("evt_first")));
    await outbox.put("escrow.released", "agt_hang", "evt_second");
    await until("the second is open, too", () => Promise.resolve(receivers.open.has("evt_second")));
    assert.strictEqual(receivers.open.size, 2);
  });
});
