// What the lists of messages make the database read: no more than they answer, regardless of how much is stored.
import { assert } from "chai";

import { inboxFilter, sentFilter } from "../../../api/features/messages/reader.ts";
import { listQuery } from "../../../api/features/messages/schemas.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { startMessageApi } from "../../fixtures/messages.ts";

const STORED = 3_000;
const PAGE = 20;

describe("lists of messages in the database", () => {
  let api: TestApi;
  before(async () => {
    api = await startMessageApi();
    const { inboxEntries, messages } = api.container.features.messages.models;
    const numbers = Array.from({ length: STORED }, (_, n) => n);
    const idOf = (n: number) => `msg_${String(n).padStart(8, "0")}`;
    await inboxEntries.collection.insertMany(
      numbers.map((n) => ({
        _id: `${idOf(n)}:agt_reader` as never,
        messageId: idOf(n),
        agentId: "agt_reader",
        seq: n + 1,
        fromAgentId: `agt_${n % 50}`,
        topic: n % 3 === 0 ? `topic-${n % 10}` : null,
        isRead: n % 100 !== 0,
        readAt: null,
      })),
    );
    await messages.collection.insertMany(
      numbers.map((n) => ({
        _id: idOf(n) as never,
        fromAgentId: `agt_${n % 2}`,
        toAgentId: n % 3 === 0 ? null : "agt_reader",
        topic: n % 3 === 0 ? `topic-${n % 10}` : null,
        ...(n % 3 === 0 ? { topicSeq: n } : {}),
        ...(n % 30 === 1 ? { transactionId: "txn_1" } : {}),
        ...(n % 3 === 1 ? { ucpType: "offer", ucpParties: [`agt_${n % 2}`, "agt_reader"] } : {}),
        createdAt: new Date(),
      })),
    );
  });
  after(() => api.close());

  interface Plan {
    executionStats: { nReturned: number; totalDocsExamined: number };
    queryPlanner: { winningPlan: object };
  }
  const assertNarrow = (explained: unknown, what: string): void => {
    const { executionStats, queryPlanner } = explained as Plan;
    assert.isAbove(executionStats.nReturned, 0, what);
    assert.isAtMost(executionStats.totalDocsExamined, executionStats.nReturned, what);
    assert.notInclude(JSON.stringify(queryPlanner.winningPlan), '"SORT"', what);
  };

  const queries = [
    {},
    { unread: "true" },
    { unread: "false" },
    { from: "agt_7" },
    { from: "agt_0", unread: "true" },
    { topic: "topic-3" },
    { topic: "topic-0", unread: "true" },
    { topic: "topic-3", from: "agt_3" },
    { cursor: Buffer.from(JSON.stringify({ after: "500" })).toString("base64url") },
  ];
  for (const query of queries) {
    it(`an inbox by ${JSON.stringify(query)} reads an index in order`, async () => {
      const { inboxEntries } = api.container.features.messages.models;
      const filter = inboxFilter("agt_reader", listQuery.parse(query));
      const found = inboxEntries.find(filter).sort({ seq: -1 }).limit(PAGE);
      assertNarrow(await found.explain("executionStats"), JSON.stringify(query));
    });
  }

  it("so do what an agent has sent, ucp messages and the messages of a transaction", async () => {
    const { messages } = api.container.features.messages.models;
    for (const filter of [
      sentFilter("agt_1", {}),
      sentFilter("agt_1", { topic: "topic-3" }),
      sentFilter("agt_1", { cursor: { after: "msg_00000500" } }),
      { ucpParties: "agt_reader" },
    ]) {
      const found = messages.find(filter).sort({ _id: -1 }).limit(PAGE);
      assertNarrow(await found.explain("executionStats"), JSON.stringify(filter));
    }
    const timeline = messages.find({ transactionId: "txn_1" }).sort({ _id: 1 }).limit(PAGE);
    assertNarrow(await timeline.explain("executionStats"), "transaction");
    const portion = messages.find({ topic: "topic-3", topicSeq: { $gt: 5, $lte: 900 } }).sort({ topicSeq: 1 });
    assertNarrow(await portion.explain("executionStats"), "topic");
  });

  it("so do the workers' looks for topics, lagging subscribers and full inboxes", async () => {
    const { subscriptions } = api.container.features.messages.models;
    await subscriptions.collection.insertMany(
      Array.from({ length: 300 }, (_, n) => ({
        _id: `t:${n}` as never,
        topic: "t",
        agentId: `agt_${n}`,
        deliveredSeq: n % 3 === 0 ? 1 : 2,
        isBlocked: n % 10 === 1,
        missed: 0,
        createdAt: new Date(),
      })),
    );
    const lagging = subscriptions.find({ topic: "t", isBlocked: false, deliveredSeq: { $lt: 2 } });
    const blocked = subscriptions.find({ topic: "t", isBlocked: true });
    for (const query of [lagging, blocked]) {
      assertNarrow(await query.sort({ deliveredSeq: 1 }).explain("executionStats"), "subscriptions");
    }
  });
});
