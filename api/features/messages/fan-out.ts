import type { ClientSession, Connection } from "mongoose";

import { INBOX_LIMITS, TOPIC_PATIENCE_MS } from "../../config/constants.ts";
import { insertPlain, writePlain } from "../../db/plain-writes.ts";
import { withTransaction } from "../../db/connection.ts";
import { fromNow, isDue, released, renewed, taken } from "../../db/leases.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { RepeatedLoop } from "../../jobs/background-loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { toInboxEntry } from "./inboxes.ts";
import type { InboxRecord, MessageModels, MessageRecord, SubscriptionRecord } from "./model.ts";
import { receivedBy } from "./sender.ts";

/** Durations of the fan-out. Tests shorten them. */
export interface FanOutTimings {
  /** Pause between checks for topics that have become due, in milliseconds. New messages are noticed at once. */
  fanOutPollMs: number;
  /** How long a dead worker keeps a topic, in milliseconds. */
  fanOutLeaseMs: number;
  /** Pause before a full inbox is retried, in milliseconds. */
  fullInboxRetryMs: number;
}

/** The default timings. */
export const FAN_OUT_TIMINGS: FanOutTimings = {
  fanOutPollMs: 2_000,
  fanOutLeaseMs: 15_000,
  fullInboxRetryMs: 30_000,
};

/** Dependencies of the fan-out. */
export interface FanOutDeps {
  connection: Connection;
  models: MessageModels;
  recorder: Pick<EventRecorder, "record">;
  clock: Clock;
  log: Logger;
  timings: FanOutTimings;
  /** Identifies this process in leases. */
  processId: string;
}

/** Limits of one transaction: subscribers, inbox entries, and bytes of content in their events. */
const SUBSCRIBERS_PER_BATCH = 50;
const ENTRIES_PER_BATCH = 200;
const BYTES_PER_BATCH = 4 * 1024 * 1024;
/** Batches of one turn: about half a second, so that other topics get their turns. */
const BATCHES_PER_TURN = 10;
/** Waiting messages read at once, without contents, to find those that are too old. */
const OLD_PER_LOOK = 1_000;
/** First and longest pause after an outage, in milliseconds. */
const RETRY = { minMs: 1_000, maxMs: 30_000 };

/** The messages that a subscription gets in one transaction. */
interface Share {
  subscription: SubscriptionRecord;
  messages: MessageRecord[];
  /** Length of the inbox before the transaction. */
  inboxLength: number;
  /** Position of the cursor after the transaction. */
  reached: number;
  /** Whether the inbox lacks room for the whole batch. */
  isBlocked: boolean;
}

/** A topic to serve, and whether full inboxes are to be retried. */
interface Turn {
  _id: string;
  isRetryDue: boolean;
}

/** Full inboxes at the end of a turn: there are none, they were retried, or their retry isn't due. */
type Retry = "none" | "again" | "waiting";

/**
 * Delivers the messages of topics to their subscribers. Each subscription has a cursor: the position of the last message that has reached the inbox. One transaction writes
 * inbox entries, events and cursors of a batch of subscribers. So a killed worker leaves no partial delivery, and no
 * message arrives twice or out of order with any number of workers. A topic's lease only avoids duplicate work.
 */
export class FanOut {
  readonly #deps: FanOutDeps;
  readonly #messages;
  readonly #inboxEntries;
  readonly #inboxes;
  readonly #topics;
  readonly #subscriptions;
  #turns = 0;
  /** Repeats `step`. To be woken when a topic has changed. */
  readonly loop: RepeatedLoop;

  constructor(deps: FanOutDeps) {
    this.#deps = deps;
    this.#messages = deps.models.messages;
    this.#inboxEntries = deps.models.inboxEntries;
    this.#inboxes = deps.models.inboxes;
    this.#topics = deps.models.topics;
    this.#subscriptions = deps.models.subscriptions;
    this.loop = repeat({
      name: "messages.fan-out",
      step: async (signal) => ((await this.step(signal)) ? 0 : deps.timings.fanOutPollMs),
      // After a failure the lease expires, and the topic is served again.
      retry: RETRY,
      failed: "can't hand out messages of a topic",
      log: deps.log,
    });
  }

  /** Serves the topic that has waited longest. Returns false if none is due. */
  async step(signal?: AbortSignal): Promise<boolean> {
    this.#turns += 1;
    const holder = `${this.#deps.processId}#${this.#turns}`;
    const claimed = await this.#claim(holder);
    if (claimed === null) return false;
    const { _id, dueAt, retryAt } = claimed;
    await this.#serve({ _id, isRetryDue: retryAt !== null && dueAt !== null && dueAt >= retryAt }, holder, signal);
    return true;
  }

  async #claim(holder: string) {
    return this.#topics
      .findOneAndUpdate(isDue("dueAt"), taken("dueAt", this.#deps.timings.fanOutLeaseMs, { holder }), {
        sort: { dueAt: 1 },
        updatePipeline: true,
      })
      .lean();
  }

  /** Extends the lease. Returns the length of the topic, or undefined if another worker has taken over. */
  async #renew(topic: string, holder: string): Promise<number | undefined> {
    const found = await this.#topics
      .findOneAndUpdate({ _id: topic, holder }, renewed("dueAt", this.#deps.timings.fanOutLeaseMs), {
        returnDocument: "after",
        updatePipeline: true,
      })
      .lean();
    return found?.seq;
  }

  /** Ends a turn. Returns false if the topic has grown since, or if another worker has taken over. */
  async #release(topic: string, holder: string, seq: number, retry: Retry): Promise<boolean> {
    const later = fromNow(this.#deps.timings.fullInboxRetryMs);
    const retryAt = { none: null, again: later, waiting: { $ifNull: ["$retryAt", later] } }[retry];
    const { matchedCount } = await this.#topics.updateOne(
      { _id: topic, holder, seq },
      [{ $set: { holder: null, retryAt, dueAt: retryAt } }],
      { updatePipeline: true },
    );
    return matchedCount === 1;
  }

  /** Writes the subscribers' inbox entries and events, and advances their cursors. */
  async #write(shares: readonly Share[], session: ClientSession): Promise<void> {
    const served = shares.filter(({ messages: own }) => own.length > 0);
    const entries = served.flatMap(({ subscription: { agentId }, messages: own, inboxLength }) =>
      own.map((message, index) => toInboxEntry(message, agentId, inboxLength + index + 1)),
    );
    await insertPlain(this.#inboxEntries, entries, session);
    await writePlain(
      this.#inboxes,
      served.map(({ subscription: { agentId: _id }, messages: own }) => ({
        updateOne: { filter: { _id }, update: { $inc: { unread: own.length, length: own.length } } },
      })),
      session,
    );
    await writePlain(
      this.#subscriptions,
      shares.map(({ subscription: { _id }, reached, isBlocked }) => ({
        updateOne: { filter: { _id }, update: { $set: { deliveredSeq: reached, isBlocked } } },
      })),
      session,
    );
    const recipients = new Map<MessageRecord, string[]>();
    for (const { subscription, messages: own } of served) {
      for (const message of own) recipients.set(message, [...(recipients.get(message) ?? []), subscription.agentId]);
    }
    const inOrder = [...recipients].sort(([one], [other]) => (one.topicSeq ?? 0) - (other.topicSeq ?? 0));
    const announcements = inOrder.map(([message, agentIds]) => receivedBy(message, agentIds));
    await this.#deps.recorder.record(announcements, session);
  }

  /** The inboxes of subscribers by agent. Each has one, because subscribing creates it. */
  async #readInboxes(subscribers: readonly SubscriptionRecord[], session: ClientSession | null) {
    const agentIds = subscribers.map(({ agentId }) => agentId);
    const found = await this.#inboxes.find({ _id: { $in: agentIds } }, null, { session }).lean();
    return new Map(found.map((inbox) => [inbox._id, inbox]));
  }

  /** Delivers messages to the subscribers that are furthest behind. Returns false if all are up to date. */
  #deliverBatch(topic: string, seq: number): Promise<boolean> {
    return withTransaction(this.#deps.connection, async (session) => {
      const lacking = await this.#subscriptions
        .find({ topic, isBlocked: false, deliveredSeq: { $lt: seq } }, null, { session })
        .sort({ deliveredSeq: 1 })
        .limit(SUBSCRIBERS_PER_BATCH)
        .lean();
      const [first] = lacking;
      if (first === undefined) return false;
      const last = Math.min(seq, first.deliveredSeq + Math.floor(ENTRIES_PER_BATCH / lacking.length));
      const found = await this.#messages
        .find({ topic, topicSeq: { $gt: first.deliveredSeq, $lte: last } }, null, { session })
        .sort({ topicSeq: 1 })
        .lean();
      const batch = firstWithin(found, BYTES_PER_BATCH / lacking.length);
      const upTo = batch.length === found.length ? last : (batch.at(-1)?.topicSeq ?? last);
      const inboxOf = await this.#readInboxes(lacking, session);
      const shares = lacking
        .filter(({ deliveredSeq }) => deliveredSeq < upTo)
        .map((subscription) => takeNext(subscription, batch, upTo, inboxOf.get(subscription.agentId)));
      await this.#write(shares, session);
      return true;
    });
  }

  /**
   * Skips and counts messages that full inboxes had no room for in 24 hours.
   * @param full subscriptions to the topic, furthest behind first
   */
  async #skipOld(topic: string, full: readonly SubscriptionRecord[]): Promise<void> {
    const [first] = full;
    if (first === undefined) return;
    const cutoff = new Date(this.#deps.clock.now().getTime() - TOPIC_PATIENCE_MS);
    const waiting = await this.#messages
      .find({ topic, topicSeq: { $gt: first.deliveredSeq } }, { topicSeq: 1, fromAgentId: 1, createdAt: 1 })
      .sort({ topicSeq: 1 })
      .limit(OLD_PER_LOOK)
      .lean();
    const firstYoung = waiting.findIndex(({ createdAt }) => createdAt > cutoff);
    const old = firstYoung === -1 ? waiting : waiting.slice(0, firstYoung);
    const reached = old.at(-1)?.topicSeq ?? 0;
    const skips = full.flatMap(({ _id, agentId, deliveredSeq }) => {
      if (deliveredSeq >= reached) return [];
      const skipped = old.filter(({ topicSeq }) => (topicSeq ?? 0) > deliveredSeq);
      const missed = skipped.filter(({ fromAgentId }) => fromAgentId !== agentId).length;
      const update = { $set: { deliveredSeq: reached }, $inc: { missed } };
      return [{ updateOne: { filter: { _id, deliveredSeq, isBlocked: true }, update } }];
    });
    if (skips.length > 0) await this.#subscriptions.bulkWrite(skips, { ordered: false });
  }

  /** Unblocks subscribers of the batch whose inboxes have room again, and skips old messages for the others. */
  async #retryBatch(topic: string, batch: readonly SubscriptionRecord[]): Promise<void> {
    const inboxOf = await this.#readInboxes(batch, null);
    const isFull = ({ agentId }: SubscriptionRecord) => (inboxOf.get(agentId)?.unread ?? 0) >= INBOX_LIMITS.unread;
    const freed = batch.filter((subscription) => !isFull(subscription)).map(({ _id }) => _id);
    if (freed.length > 0) await this.#subscriptions.updateMany({ _id: { $in: freed } }, { isBlocked: false });
    await this.#skipOld(topic, batch.filter(isFull));
  }

  /** Retries all blocked subscribers of a topic, as long as this turn holds the lease. */
  async #retryBlocked(topic: string, holder: string, signal: AbortSignal | undefined): Promise<void> {
    const blocked = this.#subscriptions
      .find({ topic, isBlocked: true })
      .sort({ deliveredSeq: 1 })
      .batchSize(SUBSCRIBERS_PER_BATCH)
      .lean()
      .cursor();
    let batch: SubscriptionRecord[] = [];
    for await (const subscription of blocked) {
      batch.push(subscription);
      if (batch.length < SUBSCRIBERS_PER_BATCH) continue;
      if (signal?.aborted === true || (await this.#renew(topic, holder)) === undefined) return;
      await this.#retryBatch(topic, batch);
      batch = [];
    }
    await this.#retryBatch(topic, batch);
  }

  /** Ends a turn before the topic is fully served. The topic goes to the end of the queue. */
  async #yieldTurn({ _id, isRetryDue }: Turn, holder: string): Promise<void> {
    const retryAt = isRetryDue ? { retryAt: fromNow(this.#deps.timings.fullInboxRetryMs) } : {};
    const update = released("dueAt", { holder: null, ...retryAt });
    await this.#topics.updateOne({ _id, holder }, update, { updatePipeline: true });
  }

  async #serve(turn: Turn, holder: string, signal: AbortSignal | undefined): Promise<void> {
    const { _id, isRetryDue } = turn;
    if (isRetryDue) await this.#retryBlocked(_id, holder, signal);
    for (let batches = 0; ; batches += 1) {
      const seq = await this.#renew(_id, holder);
      if (seq === undefined) return;
      if (signal?.aborted === true || batches === BATCHES_PER_TURN) {
        await this.#yieldTurn(turn, holder);
        return;
      }
      if (await this.#deliverBatch(_id, seq)) continue;
      const isAnyFull = (await this.#subscriptions.exists({ topic: _id, isBlocked: true })) !== null;
      const retry = isRetryDue ? "again" : "waiting";
      if (await this.#release(_id, holder, seq, isAnyFull ? retry : "none")) return;
    }
  }
}

/** The first messages whose contents total at most `bytes`; at least one. */
export function firstWithin(messages: readonly MessageRecord[], bytes: number): MessageRecord[] {
  let sum = 0;
  const excess = messages.findIndex(({ bodyJson }, index) => {
    sum += Buffer.byteLength(bodyJson ?? "");
    return index > 0 && sum > bytes;
  });
  return messages.slice(0, excess === -1 ? messages.length : excess);
}

/** The messages of a batch that fit into a subscriber's inbox. */
function takeNext(
  subscription: SubscriptionRecord,
  batch: readonly MessageRecord[],
  upTo: number,
  inbox: InboxRecord | undefined,
): Share {
  const { unread = 0, length: inboxLength = 0 } = inbox ?? {};
  const room = Math.max(0, INBOX_LIMITS.unread - unread);
  const own = batch.filter((message) => isFor(subscription, message));
  const excess = own[room]?.topicSeq;
  const reached = typeof excess === "number" ? excess - 1 : upTo;
  return { subscription, messages: own.slice(0, room), inboxLength, reached, isBlocked: reached < upTo };
}

/** Whether a subscriber still lacks a message. A publisher doesn't get its own messages. */
function isFor({ agentId, deliveredSeq }: SubscriptionRecord, { fromAgentId, topicSeq }: MessageRecord): boolean {
  return fromAgentId !== agentId && topicSeq !== null && topicSeq > deliveredSeq;
}
