import type { ApiMutant } from "./api-mutant.ts";

const APPLIER = "features/chain-follower/applier.ts";
const CONTINUITY = "features/chain-follower/continuity.ts";
const FOLLOWER = "features/chain-follower/follower.ts";
const QUARANTINE = "features/chain-follower/quarantine.ts";
const RECORDER = "features/events/recorder.ts";
const LOG = "features/events/log.ts";
const OUTBOX = "features/outbox/outbox.ts";
const LANES = "features/outbox/lanes.ts";
const PUT = "features/outbox/enqueue.ts";
const SIGNATURE = "features/webhooks/secrets/signature.ts";
const SECRETS = "features/webhooks/secrets/service.ts";
const ADDRESS = "outbound/address-check.ts";
const EXCHANGE = "outbound/pinned-exchange.ts";
const CATCH_UP = "chain-follower/follower-catch-up.test.ts";
const FOLLOWER_TESTS = ["chain-follower/follower.test.ts", CATCH_UP];
const REORGANISATION = ["chain-follower/follower-reorganisation.test.ts", "chain-follower/follower-continuity.test.ts"];
const OUTBOX_TESTS = ["outbox/outbox.test.ts"];

/** Faults in the way of a move from the chain to an agent: follower, events, outbox and webhooks. */
export const MOVE_FAULTS: ApiMutant[] = [
  {
    fault: "two followers write the same step",
    file: APPLIER,
    from: "{ _id: this.#deps.network, version },",
    to: "{ _id: this.#deps.network },",
    tests: FOLLOWER_TESTS,
  },
  {
    fault: "the cursor moves outside the transaction",
    file: APPLIER,
    from: ".session(session);",
    to: ".session(null);",
    tests: FOLLOWER_TESTS,
  },
  {
    fault: "an escrow in quarantine is applied",
    file: APPLIER,
    from: "const open = events.filter(({ escrowId }) => !quarantined.has(escrowId));",
    to: "const open = events.filter(() => quarantined.size >= 0);",
    tests: ["chain-follower/quarantine.test.ts"],
  },
  {
    fault: "a released escrow stays in quarantine",
    file: APPLIER,
    from: "await this.#deps.models.quarantine.deleteOne({ _id: this.#heldId(escrowId) }, { session });",
    to: "",
    tests: ["chain-follower/quarantine.test.ts"],
  },
  {
    fault: "a page that doesn't continue from the last one is applied",
    file: CONTINUITY,
    from: "if (first === undefined || !isSame(anchor, first)) return undefined;",
    to: "if (first === undefined) return undefined;",
    tests: REORGANISATION,
  },
  {
    fault: "a move in another block is the same move",
    file: CONTINUITY,
    from: "BigInt(anchor.ordinal) === event.ordinal && anchor.blockHash === event.blockHash;",
    to: "BigInt(anchor.ordinal) === event.ordinal;",
    tests: REORGANISATION,
  },
  {
    fault: "a fork is sought only at the newest move",
    file: CONTINUITY,
    from: "while (fork !== null && !(await isOnChain(fork))) {",
    to: "while (fork !== null && gone !== -1 && !(await isOnChain(fork))) {",
    tests: REORGANISATION,
  },
  {
    fault: "a reorganisation withdraws nothing",
    file: FOLLOWER,
    from: "for (const batch of toBatches(gone, () => 0)) done.push(...(await this.#withdrawPart(batch)));",
    to: "void [() => this.#withdrawPart([]), done];",
    tests: REORGANISATION,
  },
  {
    fault: "a bad move stops everything",
    file: FOLLOWER,
    from: "if (first === undefined || !isPoison(error)) throw error;\n      if (events.length === 1) {",
    to: "if (first === undefined || error !== undefined) throw error;\n      if (events.length === 1) {",
    tests: ["chain-follower/quarantine.test.ts"],
  },
  {
    fault: "a server without disk space quarantines an escrow",
    file: QUARANTINE,
    from: "return error instanceof MongoInvalidArgumentError || DOCUMENT_ERROR_CODES.has(error.code);",
    to: "return error instanceof MongoInvalidArgumentError || DOCUMENT_ERROR_CODES.size > 0;",
    tests: ["chain-follower/quarantine.test.ts"],
  },
  {
    fault: "a retry from quarantine waits no longer each time",
    file: QUARANTINE,
    from: "doubled(attempts - 1, RETRY)",
    to: "doubled(attempts * 0, RETRY)",
    tests: ["chain-follower/quarantine.test.ts"],
  },
  {
    fault: "a lease is taken from its owner",
    file: "jobs/lease.ts",
    from: '{ $or: [{ $eq: ["$owner", this.#owner] }, isFree("expiresAt")] }',
    to: '{ $or: [{ $ne: ["$owner", null] }, isFree("expiresAt")] }',
    tests: ["chain-follower/follower.test.ts"],
  },
  {
    fault: "anybody releases a lease",
    file: "jobs/lease.ts",
    from: "await this.#leases.deleteOne({ _id: this.#name, owner: this.#owner });",
    to: "await this.#leases.deleteOne({ _id: this.#name });",
    tests: ["chain-follower/follower.test.ts"],
  },
  {
    fault: "an event is logged again when it is recorded again",
    file: RECORDER,
    from: "for (const { _id } of known) entries.delete(_id);",
    to: "void known;",
    tests: ["events/event-log.test.ts"],
  },
  {
    fault: "an agent's webhook goes to the other party too",
    file: RECORDER,
    from: "const named = announcement.targets.filter((target) => target.agentId === agentId);",
    to: 'const named = announcement.targets.filter((target) => target.agentId !== "" || agentId === "");',
    tests: ["events/event-log.test.ts", "events/deal-events.test.ts", "chain-follower/newcomers.test.ts"],
  },
  {
    fault: "a page of events repeats the last one seen",
    file: LOG,
    from: "...(afterSeq === undefined ? {} : { seq: { $gt: afterSeq } }),",
    to: "...(afterSeq === undefined ? {} : { seq: { $gte: afterSeq } }),",
    tests: ["events/polled-events.test.ts"],
  },
  {
    fault: "an agent reads the events of all",
    file: LOG,
    from: "    agentId,\n    ...(transactionId === undefined ? {} : { transactionId }),",
    to: "    agentId: { $ne: `not ${agentId}` },\n    ...(transactionId === undefined ? {} : { transactionId }),",
    tests: ["events/polled-events.test.ts"],
  },
  {
    fault: "a webhook that failed isn't retried",
    file: OUTBOX,
    from: "return failures > WEBHOOK_RETRIES ||",
    to: "return failures >= WEBHOOK_RETRIES ||",
    tests: OUTBOX_TESTS,
  },
  {
    fault: "a webhook is retried twice",
    file: OUTBOX,
    from: "({ outcome }) => COUNTED.has(outcome)).length + 1;",
    to: "({ outcome }) => COUNTED.has(outcome)).length;",
    tests: OUTBOX_TESTS,
  },
  {
    fault: "an interrupted attempt counts as the retry",
    file: OUTBOX,
    from: '= new Set(["refused", "unreachable"]);',
    to: '= new Set(["refused", "unreachable", "interrupted"]);',
    tests: [...OUTBOX_TESTS, "outbox/worker-stop.test.ts", "chain-follower/worker-kill.test.ts"],
  },
  {
    fault: "two workers send the same webhook",
    file: OUTBOX,
    from: '{ _id: waiting._id, agentId, status: "pending", ...isDue("dueAt") },',
    to: '{ _id: waiting._id, agentId, status: "pending" },',
    tests: [...OUTBOX_TESTS, "outbox/fairness.test.ts", "outbox/backlog.test.ts"],
  },
  {
    fault: "a turn ends what another worker has taken over",
    file: LANES,
    from: "{ _id: agentId, holder },\n        [",
    to: "{ _id: agentId },\n        [",
    tests: [...OUTBOX_TESTS, "outbox/fairness.test.ts", "outbox/backlog.test.ts"],
  },
  {
    fault: "the backup of a funding isn't sent",
    file: PUT,
    from: "return eventType === BACKED_UP && (!durable || direct);",
    to: "return eventType !== BACKED_UP && (!durable || direct);",
    tests: ["outbox/targets.test.ts"],
  },
  {
    fault: "a webhook's signature doesn't cover its time",
    file: SIGNATURE,
    from: "update(`${timestamp}.${rawBody}`)",
    to: 'update(`${timestamp === "" ? "" : "."}${rawBody}`)',
    tests: ["webhooks/webhook-signature.test.ts"],
  },
  {
    fault: "an old webhook is accepted",
    file: SIGNATURE,
    from: "if (Math.abs(now - Number(timestamp)) > WEBHOOK_SIGNATURE_TOLERANCE_SECONDS) return false;",
    to: "if (Number(timestamp) - now > WEBHOOK_SIGNATURE_TOLERANCE_SECONDS) return false;",
    tests: ["webhooks/webhook-signature.test.ts"],
  },
  {
    fault: "a webhook of exactly 300 seconds is refused",
    file: SIGNATURE,
    from: "if (Math.abs(now - Number(timestamp)) > WEBHOOK_SIGNATURE_TOLERANCE_SECONDS) return false;",
    to: "if (Math.abs(now - Number(timestamp)) >= WEBHOOK_SIGNATURE_TOLERANCE_SECONDS) return false;",
    tests: ["webhooks/webhook-signature.test.ts"],
  },
  {
    fault: "all agents have one webhook secret",
    file: SECRETS,
    from: "`webhook-signing|${agentId}|${rotation}`",
    to: '`webhook-signing|${agentId === "" ? "" : "all"}|${rotation}`',
    tests: ["webhooks/webhook-signing-secret.test.ts", "events/deal-events.test.ts"],
  },
  {
    fault: "a new webhook secret signs before it is activated",
    file: SECRETS,
    from: "if (record.next === null || record.next.activatesAt > now()) return { stored, record };",
    to: "if (record.next === null || record.next.activatesAt < now()) return { stored, record };",
    tests: ["webhooks/webhook-signing-secret.test.ts", "webhooks/webhook-secret-concurrency.test.ts"],
  },
  {
    fault: "a concurrent activation skips a secret",
    file: SECRETS,
    from: "if (record.next === null || record.next.rotation !== asked) return undefined;",
    to: "if (record.next === null) return undefined;",
    tests: ["webhooks/webhook-secret-concurrency.test.ts"],
  },
  {
    fault: "a private address gets webhooks",
    file: ADDRESS,
    from: 'return parsed.range() === "unicast";',
    to: 'return parsed.range() !== "loopback";',
    tests: ["webhooks/webhook-sender.test.ts", "webhooks/webhook-dns.test.ts"],
  },
  {
    fault: "one public address of several is enough",
    file: ADDRESS,
    from: "if (forbidden !== undefined) return",
    to: "if (forbidden !== undefined && addresses.length === 1) return",
    tests: ["webhooks/webhook-sender.test.ts", "webhooks/webhook-dns.test.ts"],
  },
  {
    fault: "a name leads elsewhere than to the checked address",
    file: EXCHANGE,
    from: "lookup: pinnedLookup(options.addresses),",
    to: "",
    tests: ["webhooks/webhook-sender.test.ts", "webhooks/webhook-dns.test.ts"],
  },
  {
    fault: "a receiver may send what is no answer for ever",
    file: EXCHANGE,
    from: "if (!isAnswered && receivedBytes > MAX_HEAD_BYTES)",
    to: "if (isAnswered && receivedBytes > MAX_HEAD_BYTES * 1_000)",
    tests: ["webhooks/interim-answers.test.ts"],
  },
  {
    fault: "interim answers that come at once have no bound",
    file: EXCHANGE,
    from: "if (interimBytes > MAX_HEAD_BYTES)",
    to: "if (interimBytes > MAX_HEAD_BYTES * 1_000)",
    tests: ["webhooks/interim-answers.test.ts"],
  },
  {
    fault: "an answer of 300 acknowledges a webhook",
    file: "features/webhooks/dispatches/sender.ts",
    from: "if (statusCode >= 200 && statusCode < 300)",
    to: "if (statusCode >= 200 && statusCode < 400)",
    tests: ["webhooks/webhook-sender.test.ts"],
  },
];
