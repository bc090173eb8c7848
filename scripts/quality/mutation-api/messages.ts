import type { ApiMutant } from "./api-mutant.ts";

const FAN_OUT = "features/messages/fan-out.ts";
const SUBSCRIPTIONS = "features/messages/topics.ts";
const MESSAGES = "features/messages/reader.ts";
const WRITER = "features/memory/entries/writer.ts";
const TOPICS = "messages/topics.test.ts";
const DIRECT = "messages/direct.test.ts";
const ENTRIES = "memory/entries.test.ts";
const CONDITIONS = "memory/conditions.test.ts";

/** Faults in messages and memory. */
export const MESSAGE_FAULTS: ApiMutant[] = [
  {
    fault: "a publisher gets its own messages",
    file: FAN_OUT,
    from: "return fromAgentId !== agentId && topicSeq !== null",
    to: "return topicSeq !== null",
    tests: [TOPICS],
  },
  {
    fault: "a full inbox loses the first message that it has no room for",
    file: FAN_OUT,
    from: 'typeof excess === "number" ? excess - 1 : upTo',
    to: 'typeof excess === "number" ? excess : upTo',
    tests: [TOPICS],
  },
  {
    fault: "a message that is marked as read twice counts twice",
    file: MESSAGES,
    from: "{ _id, agentId, isRead: !isRead },",
    to: "{ _id, agentId },",
    tests: [DIRECT],
  },
  {
    fault: "every agent can read a message by its id",
    file: MESSAGES,
    from: "if (message === null || (entry === null && message.fromAgentId !== agentId))",
    to: "if (message === null)",
    tests: [DIRECT],
  },
  {
    fault: "an expired entry is read",
    file: "features/memory/entries/reader.ts",
    from: "{ _id: entryIdOf(agentId, name), expiresAt: { $gt: this.#now() } }",
    to: "{ _id: entryIdOf(agentId, name) }",
    tests: [ENTRIES],
  },
  {
    fault: "an entry that is written after its end continues the old one",
    file: WRITER,
    from: "known !== undefined && known.expiresAt > now ? known : undefined",
    to: "known",
    tests: [ENTRIES],
  },
  {
    fault: "an entry keeps one version more",
    file: WRITER,
    from: "version + 1 - MEMORY_VERSIONS",
    to: "version - MEMORY_VERSIONS",
    tests: [ENTRIES],
  },
  {
    fault: "a write that exactly fills the quota is refused",
    file: "features/memory/ledger.ts",
    from: "before[bound] + added[bound] <= limit) continue;",
    to: "before[bound] + added[bound] < limit) continue;",
    tests: [ENTRIES, "memory/races.test.ts"],
  },
  {
    fault: "an audit entry has the payload that was handed over",
    file: "features/memory/audit/trails.ts",
    from: 'const LEFT_OUT: readonly string[] = ["requestPayload", "responsePayload"];',
    to: 'const LEFT_OUT: readonly string[] = ["requestPayload"];',
    tests: ["memory/audit.test.ts"],
  },
  {
    fault: "a new subscriber gets what was sent before",
    file: SUBSCRIPTIONS,
    from: "deliveredSeq: reached?.seq ?? 0",
    to: "deliveredSeq: Math.min(0, reached?.seq ?? 0)",
    tests: [TOPICS],
  },
  {
    fault: "a subscription that has ended keeps its place among the hundred",
    file: SUBSCRIPTIONS,
    from: "{ $inc: { subscriptions: -1 } }",
    to: "{ $inc: { subscriptions: 0 } }",
    tests: [TOPICS],
  },
  {
    fault: "a page of subscriptions repeats the last of the page before",
    file: SUBSCRIPTIONS,
    from: "{ topic: { $gt: after } }",
    to: "{ topic: { $gte: after } }",
    tests: [TOPICS],
  },
  {
    fault: "a publisher has missed its own messages",
    file: FAN_OUT,
    from: "skipped.filter(({ fromAgentId }) => fromAgentId !== agentId).length;",
    to: "skipped.filter(({ fromAgentId }) => fromAgentId !== null || agentId !== null).length;",
    tests: [TOPICS, "messages/large-topics.test.ts"],
  },
  {
    fault: "a message that is larger than a subscriber's share of a batch is lost",
    file: FAN_OUT,
    from: "return index > 0 && sum > bytes;",
    to: "return sum > bytes;",
    tests: ["messages/batches.test.ts"],
  },
  {
    fault: "a version that a compressing proxy made weak is refused",
    file: "features/memory/entries/conditions.ts",
    from: '(?:(?:W/)?"[1-9]',
    to: '(?:"[1-9]',
    tests: [CONDITIONS],
  },
  {
    fault: "an entry at an unwanted version is written",
    file: "features/memory/entries/conditions.ts",
    from: "const isUnwanted = unwanted !== undefined &&",
    to: 'const isUnwanted = unwanted === "any" &&',
    tests: [CONDITIONS],
  },
];
