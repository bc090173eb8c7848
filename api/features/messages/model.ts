import type { Connection, Model } from "mongoose";

import { ENCRYPTION_ALGORITHM } from "../../config/constants.ts";
import { collection, date, flag, listOf, nullable, number, oneOf, optional, part, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** Content encrypted by its sender. The service has no key for it. */
const encryptedFields = {
  v: oneOf([1]),
  alg: oneOf([ENCRYPTION_ALGORITHM]),
  /** Uncompressed secp256k1 key, `0x04…`. */
  ephemeralPublicKey: text,
  /** `iv` is base64 of 12 bytes, `ciphertext` of any number, `tag` of 16. */
  iv: text,
  ciphertext: text,
  tag: text,
};

/** A message to one agent or to a topic. It never changes. */
const messageFields = {
  /** `msg_…`, sorted by the time of sending. */
  _id: text,
  fromAgentId: text,
  /** Exactly one of `toAgentId` and `topic` isn't null. */
  toAgentId: nullable(text),
  topic: nullable(text),
  /** Position in the topic: 1, 2, 3 and so on, in commit order. Null for a direct message. */
  topicSeq: nullable(number),
  contentType: text,
  /** JSON text of the body. Exactly one of `bodyJson` and `encrypted` isn't null. */
  bodyJson: nullable(text),
  encrypted: nullable(part(encryptedFields)),
  /** Hash of recipient, ephemeral key and iv. Unique, so the same ciphertext can't be sent to an agent twice. */
  encryptionId: optional(text),
  /** Type of a ucp message, and its sender and recipient; missing in other messages. */
  ucpType: optional(text),
  ucpParties: optional(listOf(text)),
  replyTo: nullable(text),
  transactionId: nullable(text),
  createdAt: date,
};
export type MessageRecord = RecordOf<typeof messageFields>;

/** A message in one agent's inbox. */
const entryFields = {
  /** `<message id>:<agent id>` */
  _id: text,
  messageId: text,
  /** The recipient. */
  agentId: text,
  /** Position in the inbox: 1, 2, 3 and so on, in commit order. */
  seq: number,
  fromAgentId: text,
  topic: nullable(text),
  /** Null while unread. `isRead` duplicates this for indexes. */
  readAt: nullable(date),
  isRead: flag,
};
export type InboxEntry = RecordOf<typeof entryFields>;

/** Message counts of one agent. Every write to an inbox changes them, so limits are exact. */
const inboxFields = {
  /** Agent id. */
  _id: text,
  unread: number,
  /** Number of messages that have arrived so far. */
  length: number,
  subscriptions: number,
};
export type InboxRecord = RecordOf<typeof inboxFields>;

/** A topic that has at least one message. */
const topicFields = {
  /** Its name. */
  _id: text,
  /** Number of messages so far. */
  seq: number,
  /** When a worker should next serve the topic; null if no subscriber lacks messages. During a turn, the end of its lease. */
  dueAt: nullable(date),
  /** When full inboxes of subscribers are retried; null if there are none. */
  retryAt: nullable(date),
  /** The turn that holds the lease; null between turns. */
  holder: nullable(text),
};
export type TopicRecord = RecordOf<typeof topicFields>;

/** An agent's subscription to a topic. */
const subscriptionFields = {
  /** `<topic>:<agent id>` */
  _id: text,
  topic: text,
  agentId: text,
  /** Position of the topic's last message that has reached the inbox. It starts at the topic's length. */
  deliveredSeq: number,
  /** True while the inbox has no room for the next message. */
  isBlocked: flag,
  /** Number of messages skipped because the inbox had no room for 24 hours. */
  missed: number,
  createdAt: date,
};
export type SubscriptionRecord = RecordOf<typeof subscriptionFields>;

/** The collections of messages. */
export interface MessageModels {
  messages: Model<MessageRecord>;
  inboxEntries: Model<InboxEntry>;
  inboxes: Model<InboxRecord>;
  topics: Model<TopicRecord>;
  subscriptions: Model<SubscriptionRecord>;
}

/** Declares the collections on a connection. */
export function messageModels(connection: Connection): MessageModels {
  // The planner uses this filter for queries by a string. It wouldn't use `$type`.
  const given = (field: string) => ({ partialFilterExpression: { [field]: { $gt: "" } } });
  return {
    messages: collection(connection, "Message", "messages", messageFields, [
      [{ fromAgentId: 1, _id: -1 }],
      [{ fromAgentId: 1, topic: 1, _id: -1 }, given("topic")],
      [
        { topic: 1, topicSeq: 1 },
        { unique: true, ...given("topic") },
      ],
      [{ encryptionId: 1 }, { unique: true, ...given("encryptionId") }],
      [{ ucpParties: 1, _id: -1 }, given("ucpParties")],
      [{ transactionId: 1, _id: 1 }, given("transactionId")],
      [{ createdAt: 1 }],
    ]),
    inboxEntries: collection(connection, "InboxEntry", "message_entries", entryFields, [
      // A query gives `isRead` one value or both, and MongoDB merges the two ranges in order.
      [{ agentId: 1, isRead: 1, seq: -1 }],
      // The last field serves a filter by both topic and sender.
      [{ agentId: 1, fromAgentId: 1, isRead: 1, seq: -1, topic: 1 }],
      [{ agentId: 1, topic: 1, isRead: 1, seq: -1, fromAgentId: 1 }, given("topic")],
      [{ messageId: 1 }],
    ]),
    inboxes: collection(connection, "MessageInbox", "message_inboxes", inboxFields),
    topics: collection(connection, "MessageTopic", "message_topics", topicFields, [[{ dueAt: 1 }]]),
    subscriptions: collection(connection, "MessageSubscription", "message_subscriptions", subscriptionFields, [
      [{ topic: 1, isBlocked: 1, deliveredSeq: 1 }],
      [{ agentId: 1, topic: 1 }],
    ]),
  };
}
