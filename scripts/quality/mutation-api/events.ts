import type { ApiMutant } from "./api-mutant.ts";

const HUB = "features/events/stream-hub.ts";
const PUT = "features/outbox/enqueue.ts";
const ADDRESS = "outbound/address-check.ts";
const STREAM = "events/stream.test.ts";
const ENDINGS = "events/stream-endings.test.ts";
const REGISTERED = "webhooks/registered-webhooks.test.ts";
const FAILING = "webhooks/failing-webhooks.test.ts";
const HOSTILE = "webhooks/hostile-addresses.test.ts";
const TARGETS = "outbox/targets.test.ts";
const REDELIVERIES = "features/webhooks/dispatches/redeliveries.ts";
const REDELIVERY_TESTS = ["webhooks/redeliveries.test.ts"];

/** Faults in webhooks, event streams and the order of dispatches. */
export const EVENT_FAULTS: ApiMutant[] = [
  {
    fault: "a stream gets an event that isn't its next one",
    file: HUB,
    from: "const isNext = event.seq === stream.position + 1;",
    to: "const isNext = event.seq > stream.position;",
    tests: ["events/stream-hub.test.ts"],
  },
  {
    fault: "a stream of one transaction gets the events of others",
    file: "features/events/event-stream.ts",
    from: "if (transactionId !== undefined && transactionId !== event.transactionId) return;",
    to: "",
    tests: [STREAM],
  },
  {
    fault: "an agent has one stream more than it may",
    file: "features/events/stream-slots.ts",
    from: '{ $lt: [{ $size: "$streams" }, most] }',
    to: '{ $lte: [{ $size: "$streams" }, most] }',
    tests: [STREAM, "events/stream-processes.test.ts"],
  },
  {
    fault: "a stream doesn't notice that its key was revoked",
    file: HUB,
    from: "if (this.#byAgent.has(documentKey._id)) await this.#checkKeys([documentKey._id]);",
    to: "await Promise.resolve();",
    tests: [ENDINGS],
  },
  {
    fault: "an address in another spelling gets an event twice",
    file: PUT,
    from: "(URL.canParse(url) ? new URL(url).href : url)",
    to: "url",
    tests: [TARGETS],
  },
  {
    fault: "a registration that isn't durable takes a durable one's place",
    file: PUT,
    from: "(webhook.durable && !known.durable)",
    to: "!known.durable",
    tests: [TARGETS],
  },
  {
    fault: "a durable dispatch is never given up",
    file: "features/outbox/outbox.ts",
    from: "const isOver = dispatch.durable ? { $gt: [fromNow(pauseMs), endsAt] } : false;",
    to: "const isOver = false;",
    tests: ["outbox/durable.test.ts", FAILING],
  },
  {
    fault: "the first dispatch of a chain waits for itself",
    file: "features/outbox/chains.ts",
    from: "seq: { $gt: first.seq } };",
    to: "seq: { $gte: first.seq } };",
    tests: ["outbox/durable.test.ts", FAILING],
  },
  {
    fault: "a webhook that failed for exactly five days stays enabled",
    file: "features/webhooks/registrations/health.ts",
    from: ">= WEBHOOK_DISABLED_AFTER_MS",
    to: "> WEBHOOK_DISABLED_AFTER_MS",
    tests: [FAILING],
  },
  {
    fault: "the address of a listing gets nothing while a registration of it is disabled",
    file: "features/webhooks/dispatches/attempt.ts",
    from: 'if ("error" in address && !direct)',
    to: 'if ("error" in address)',
    tests: [FAILING],
  },
  {
    fault: "a message that its own repeat has sent is answered 500",
    file: "features/messages/sender.ts",
    from: "if (sent !== null) return sent;",
    to: "if (sent !== null && operation.isRepeat) return sent;",
    tests: ["idempotency/overtaken-writes.test.ts"],
  },
  {
    fault: "a disabled webhook gets new events",
    file: "features/webhooks/registrations/service.ts",
    from: '{ $in: [...agentIds] }, status: "active" as const, events:',
    to: "{ $in: [...agentIds] }, events:",
    tests: [FAILING, REGISTERED],
  },
  {
    fault: "an event that has arrived is sent again because its first dispatch failed",
    file: "features/webhooks/dispatches/missed-events.ts",
    from: "all.every(isMissed)",
    to: "all.some(isMissed)",
    tests: ["webhooks/missed-events.test.ts"],
  },
  {
    fault: "an event is sent again without a bound",
    file: "features/webhooks/dispatches/missed-events.ts",
    from: "all.length < DISPATCHES_AT_MOST",
    to: "all.length > 0",
    tests: ["webhooks/missed-events.test.ts"],
  },
  {
    fault: "only the first address of a name is checked",
    file: ADDRESS,
    from: "const forbidden = addresses.find(",
    to: "const forbidden = addresses.slice(0, 1).find(",
    tests: [HOSTILE],
  },
  {
    fault: "an address with credentials is sent to",
    file: ADDRESS,
    from: 'if (url.username !== "" || url.password !== "")',
    to: 'if (url.password !== "")',
    tests: [HOSTILE],
  },
  {
    fault: "every agent has a delivery sent again",
    file: "features/webhooks/dispatches/log.ts",
    from: "model.findOne({ _id: dispatchId, agentId })",
    to: "model.findOne({ _id: dispatchId })",
    tests: REDELIVERY_TESTS,
  },
  {
    fault: "a redelivery goes to the address that the webhook had",
    file: REDELIVERIES,
    from: "return address.url;",
    to: "return url;",
    tests: REDELIVERY_TESTS,
  },
  {
    fault: "a redelivery of a durable webhook is durable",
    file: PUT,
    from: '_id,\n    url,\n    durable: false,\n    kind: "redelivery"',
    to: '_id, url, kind: "redelivery"',
    tests: REDELIVERY_TESTS,
  },
  {
    fault: "a repeat looks for the webhook before the delivery that it has put",
    file: REDELIVERIES,
    from: "const earlier = operation.isRepeat ?",
    to: "const earlier = operation.isRepeat && at < now() ?",
    tests: REDELIVERY_TESTS,
  },
  {
    fault: "a disabled webhook gets a ping",
    file: REDELIVERIES,
    from: 'if (status !== "active") throw notActive',
    to: "if (status === undefined) throw notActive",
    tests: ["webhooks/missed-events.test.ts"],
  },
];
