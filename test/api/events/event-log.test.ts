import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { withTransaction } from "../../../api/db/connection.ts";
import { PAGE_BYTES } from "../../../api/db/pages.ts";
import { EventLog } from "../../../api/features/events/log.ts";
import type { Announcement } from "../../../api/features/events/recorder.ts";
import { bytes32, ESCROW_CONTRACT, followerBench } from "../../fixtures/follower.ts";

describe("the event logs of agents", () => {
  const bench = followerBench();

  const announcementFor = (...recipients: string[]): Announcement => {
    const transactionId = `txn_${randomBytes(16).toString("hex")}`;
    return {
      type: "escrow.funded",
      record: {
        _id: transactionId,
        network: "base-sepolia",
        escrowContract: ESCROW_CONTRACT,
        escrowId: bytes32(),
        unsolicited: false,
      },
      body: { event: "escrow.funded", transactionId },
      incarnation: 0,
      recipients,
      targets: [],
      occurredAt: bench.clock,
    };
  };
  const record = (...announcements: Announcement[]) =>
    withTransaction(bench.connection, (session) => bench.recorder.record(announcements, session));
  const positionsOf = async (agentId: string) =>
    (await bench.models.events.find({ agentId }).sort({ seq: 1 }).lean()).map(({ seq }) => seq);
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  it("[D37] are written for different agents at the same time, without waiting for each other", async () => {
    const [one, other] = await Promise.all([bench.connection.startSession(), bench.connection.startSession()]);
    try {
      one.startTransaction({ readConcern: { level: "snapshot" } });
      other.startTransaction({ readConcern: { level: "snapshot" } });
      await bench.recorder.record([announcementFor("agt_one")], one);
      await bench.recorder.record([announcementFor("agt_other")], other);
      await other.commitTransaction();
      await one.commitTransaction();
    } finally {
      await Promise.all([one.endSession(), other.endSession()]);
    }
    assert.deepEqual(await Promise.all(["agt_one", "agt_other"].map(positionsOf)), [[1], [1]]);
  });

  it("[D37] have no gap and no duplicate position when many write to the same logs, even for the first entries", async () => {
    const writes = upTo(40).map((n) =>
      record(announcementFor("agt_one"), announcementFor(n % 2 === 0 ? "agt_two" : "agt_three", "agt_one")),
    );
    await Promise.all(writes);
    assert.deepEqual(await positionsOf("agt_one"), upTo(80));
    assert.deepEqual(await positionsOf("agt_two"), upTo(20));
    assert.deepEqual(await positionsOf("agt_three"), upTo(20));
  });

  it("[D37] have an event once even if it is recorded repeatedly, and get it later for an agent that lacked it", async () => {
    const announcement = announcementFor("agt_one");
    await record(announcement, announcement);
    await record({ ...announcement, recipients: ["agt_two", null, "agt_one"] });
    const entries = await bench.models.events.find().sort({ agentId: 1 }).lean();
    assert.deepEqual(
      entries.map(({ agentId, seq }) => [agentId, seq]),
      [
        ["agt_one", 1],
        ["agt_two", 1],
      ],
    );
    assert.strictEqual(entries[0]?.eventId, entries[1]?.eventId);
  });

  it("[D33] go to the named addresses of their own agent alone", async () => {
    const targets = ["agt_one", "agt_two"].map((agentId) => ({ agentId, url: `https://${agentId}.example/hook` }));
    await record({ ...announcementFor("agt_one"), targets });
    const dispatches = await bench.dispatches.find({ kind: "immediate" }).lean();
    assert.deepEqual(
      dispatches.map(({ agentId, url }) => [agentId, url]),
      [["agt_one", "https://agt_one.example/hook"]],
    );
  });

  it("[D37] are read in pages of about 1 MB, and in order; a larger event is a page of its own", async () => {
    const sizes = [...Array.from({ length: 9 }, () => 250_000), PAGE_BYTES, 10, 10];
    for (const size of sizes) {
      const announcement = announcementFor("agt_one");
      await record({ ...announcement, body: { ...announcement.body, text: "x".repeat(size) } });
    }
    const log = new EventLog(bench.models.events, bench.models.lengths);
    const pages: number[][] = [];
    for (let after: string | undefined, hasMore = true; hasMore;) {
      const page = await log.list("agt_one", { after, limit: 100 });
      pages.push(page.events.map(({ seq }) => seq));
      after = page.events.at(-1)?.eventId;
      hasMore = page.hasMore;
    }
    assert.deepEqual(pages, [[1, 2, 3, 4], [5, 6, 7, 8], [9], [10], [11, 12]]);
  });

  it("are read for a stream in pages of about 1 MB, each with the position up to which it is complete", async () => {
    for (const size of [250_000, 250_000, 10, 250_000, 250_000, 250_000, 10, 250_000]) {
      const announcement = announcementFor("agt_one");
      await record({ ...announcement, body: { ...announcement.body, text: "x".repeat(size) } });
    }
    const log = new EventLog(bench.models.events, bench.models.lengths);
    const pagesOf = async (limit: number) => {
      const pages: { seqs: number[]; complete: number }[] = [];
      for (let position = 0; position < 8;) {
        const { events, complete } = await log.after("agt_one", position, {}, limit);
        pages.push({ seqs: events.map(({ seq }) => seq), complete });
        assert.isAbove(complete, position);
        position = complete;
      }
      return pages;
    };
    assert.deepEqual(await pagesOf(100), [
      { seqs: [1, 2, 3, 4, 5], complete: 5 },
      { seqs: [6, 7, 8], complete: 8 },
    ]);
    assert.deepEqual((await pagesOf(4))[0], { seqs: [1, 2, 3, 4], complete: 4 });
    assert.deepEqual(await log.after("agt_one", 2, { type: "message.received" }, 100), { events: [], complete: 8 });
  });
});
