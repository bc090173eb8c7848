import { assert } from "chai";

import type { Send } from "../../../api/features/outbox/dispatcher.ts";
import { isDue } from "../../../api/db/leases.ts";
import { waitingInLane } from "../../../api/features/outbox/outbox.ts";
import { dueBy, outboxState } from "../../../api/features/outbox/state.ts";
import { ACKNOWLEDGED, scripted, TestOutbox } from "../../fixtures/outbox.ts";

const QUEUED = 100_000;

interface Examined {
  executionStats: { totalDocsExamined: number; totalKeysExamined: number };
}

describe("the outbox, with a hundred thousand queued for one agent", () => {
  let outbox: TestOutbox;

  before(async () => {
    outbox = await TestOutbox.open();
    await outbox.fill("agt_flooded", QUEUED);
    await outbox.put("escrow.released", "agt_other");
    await outbox.lanes.admit();
  });
  after(() => outbox.close());

  const examined = (explained: unknown) => {
    const { totalDocsExamined, totalKeysExamined } = (explained as Examined).executionStats;
    return { documents: totalDocsExamined, keys: totalKeysExamined };
  };

  it("reads the lanes that it claims and nothing that waits in them", async () => {
    const { lanes } = outbox.models;
    const due = lanes
      .find({ isSlow: false, ...isDue("nextDueAt") })
      .sort({ nextDueAt: 1 })
      .limit(64);
    assert.deepEqual(examined(await due.explain("executionStats")), { documents: 2, keys: 2 });
  });

  it("finds a lane's next dispatch and its due time with one key, for the long lane and the short one", async () => {
    for (const agentId of ["agt_flooded", "agt_other"]) {
      const { dispatches } = outbox.models;
      const next = dispatches.find(waitingInLane(agentId)).sort({ dueAt: 1 }).limit(1);
      const explained = await next.explain("executionStats");
      assert.deepEqual(examined(explained), { documents: 1, keys: 1 }, agentId);
    }
  });

  it("reports the backlog up to a limit, and its age, from index keys alone", async () => {
    const { dispatches } = outbox.models;
    const state = await outboxState(dispatches, new Date());
    const oldest = await dispatches.find().sort({ createdAt: 1 }).limit(1).lean();
    assert.deepEqual(state, { waiting: 10_000, oldestDueAt: oldest[0]?.dueAt ?? null });
    const explained = await outbox.connection.db?.command({
      explain: { count: "outbox_dispatches", query: dueBy(new Date()), limit: 10_000, hint: { status: 1, dueAt: 1 } },
      verbosity: "executionStats",
    });
    assert.strictEqual(examined(explained).documents, 0);
    assert.isAtMost(examined(explained).keys, 10_001);
  });

  it("gives the short lane its turn after the long one's, even with one slot for both", async () => {
    const stopping = new AbortController();
    const sent: string[] = [];
    const slots = { total: 1, slow: 1, promptMs: 60_000 };
    const send: Send = ({ agentId }) => {
      sent.push(agentId);
      // A turn ends after 10 seconds.
      outbox.elapsedMs += 6_000;
      if (agentId === "agt_other") stopping.abort();
      return Promise.resolve(ACKNOWLEDGED);
    };
    await outbox.dispatcher(send, { slots }).run(stopping.signal);
    assert.isAtMost(sent.indexOf("agt_other"), 2, sent.join());
  });
});

describe("the state of the outbox", () => {
  let outbox: TestOutbox;

  before(async () => {
    outbox = await TestOutbox.open();
  });
  after(() => outbox.close());

  it("counts what is due, but neither running attempts nor a waiting backup", async () => {
    const { dispatches } = outbox.models;
    assert.deepEqual(await outboxState(dispatches, new Date()), { waiting: 0, oldestDueAt: null });
    const id = await outbox.put("escrow.funded");
    await outbox.put("escrow.released");
    const { dueAt } = await outbox.read(id);
    assert.deepEqual(await outboxState(dispatches, new Date()), { waiting: 2, oldestDueAt: dueAt });
    await outbox.takeAndDie();
    assert.strictEqual((await outboxState(dispatches, new Date())).waiting, 1);
    await outbox.age(60_000);
    await outbox.dispatcher(scripted(ACKNOWLEDGED).send).drain();
    assert.deepEqual(await outboxState(dispatches, new Date()), { waiting: 0, oldestDueAt: null });
  });
});
