import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import type { ENCRYPTION_ALGORITHM } from "../../config/constants.ts";

/** Content encrypted by its sender. The service has no key for it. */
export interface EncryptedContent {
  v: 1;
  alg: typeof ENCRYPTION_ALGORITHM;
  /** Uncompressed secp256k1 key, `0x04…`. */
  ephemeralPublicKey: string;
  /** `iv` is base64 of 12 bytes, `ciphertext` of any number, `tag` of 16. */
  iv: string;
  ciphertext: string;
  tag: string;
}

/** A message to one agent or to a topic. It never changes. */
export interface MessageRecord {
  /** `msg_…`, sorted by the time of sending. */
  _id: string;
  fromAgentId: string;
  /** Exactly one of `toAgentId` and `topic` isn't null. */
  toAgentId: string | null;
  topic: string | null;
  /** Position in the topic: 1, 2, 3 and so on, in commit order. Null for a direct message. */
  topicSeq: number | null;
  contentType: string;
  /** JSON text of the body. Exactly one of `bodyJson` and `encrypted` isn't null. */
  bodyJson: string | null;
  encrypted: EncryptedContent | null;
  /** Hash of recipient, ephemeral key and iv. Unique, so the same ciphertext can't be sent to an agent twice. */
  encryptionId?: string;
  /** Type of a ucp message, and its sender and recipient; missing in other messages. */
  ucpType?: string;
  ucpParties?: string[];
  replyTo: string | null;
  transactionId: string | null;
  createdAt: Date;
}

/** A message in one agent's inbox. */
export interface InboxEntry {
  /** `<message id>:<agent id>` */
  _id: string;
  messageId: string;
  /** The recipient. */
  agentId: string;
  /** Position in the inbox: 1, 2, 3 and so on, in commit order. */
  seq: number;
  fromAgentId: string;
  topic: string | null;
  /** Null while unread. `isRead` duplicates this for indexes. */
  readAt: Date | null;
  isRead: boolean;
}

/** Message counts of one agent. Every write to an inbox changes them, so limits are exact. */
export interface InboxRecord {
  /** Agent id. */
  _id: string;
  unread: number;
  /** Number of messages that have arrived so far. */
  length: number;
  subscriptions: number;
}

/** A topic that has at least one message. */
export interface TopicRecord {
  /** Its name. */
  _id: string;
  /** Number of messages so far. */
  seq: number;
  /** When a worker should next serve the topic; null if no subscriber lacks messages. During a turn, the end of its lease. */
  dueAt: Date | null;
  /** When full inboxes of subscribers are retried; null if there are none. */
  retryAt: Date | null;
  /** The turn that holds the lease; null between turns. */
  holder: string | null;
}

/** An agent's subscription to a topic. */
export interface SubscriptionRecord {
  /** `<topic>:<agent id>` */
  _id: string;
  topic: string;
  agentId: string;
  /** Position of the topic's last message that has reached the inbox. It starts at the topic's length. */
  deliveredSeq: number;
  /** True while the inbox has no room for the next message. */
  isBlocked: boolean;
  /** Number of messages skipped because the inbox had no room for 24 hours. */
  missed: number;
  createdAt: Date;
}

/** The collections of messages. */
export interface MessageModels {
  messages: Model<MessageRecord>;
  inboxEntries: Model<InboxEntry>;
  inboxes: Model<InboxRecord>;
  topics: Model<TopicRecord>;
  subscriptions: Model<SubscriptionRecord>;
}

const text = { type: String, required: true } as const;
const optionalText = { type: String, default: null } as const;
const count = { type: Number, required: true } as const;
const flag = { type: Boolean, required: true } as const;
const date = { type: Date, required: true } as const;
const nullableDate = { type: Date, default: null } as const;
const options = { versionKey: false, strict: "throw" } as const;

/** Declares the collections on a connection. */
export function messageModels(connection: Connection): MessageModels {
  const encrypted = new Schema<EncryptedContent>(
    { v: count, alg: text, ephemeralPublicKey: text, iv: text, ciphertext: text, tag: text },
    { _id: false },
  );
  const message = new Schema<MessageRecord>(
    {
      _id: text,
      fromAgentId: text,
      toAgentId: optionalText,
      topic: optionalText,
      topicSeq: { type: Number, default: null },
      contentType: text,
      bodyJson: optionalText,
      encrypted: { type: encrypted, default: null },
      encryptionId: String,
      ucpType: String,
      // Without this, Mongoose stores an empty list, which the index would contain.
      ucpParties: { type: [String], default: undefined },
      replyTo: optionalText,
      transactionId: optionalText,
      createdAt: date,
    },
    { ...options, collection: "messages" },
  );
  // The planner uses this filter for queries by a string. It wouldn't use `$type`.
  const given = (field: string) => ({ partialFilterExpression: { [field]: { $gt: "" } } });
  message.index({ fromAgentId: 1, _id: -1 });
  message.index({ fromAgentId: 1, topic: 1, _id: -1 }, given("topic"));
  message.index({ topic: 1, topicSeq: 1 }, { unique: true, ...given("topic") });
  message.index({ encryptionId: 1 }, { unique: true, ...given("encryptionId") });
  message.index({ ucpParties: 1, _id: -1 }, given("ucpParties"));
  message.index({ transactionId: 1, _id: 1 }, given("transactionId"));
  message.index({ createdAt: 1 });

  const entry = new Schema<InboxEntry>(
    {
      _id: text,
      messageId: text,
      agentId: text,
      seq: count,
      fromAgentId: text,
      topic: optionalText,
      readAt: { type: Date, default: null },
      isRead: flag,
    },
    { ...options, collection: "message_entries" },
  );
  // A query gives `isRead` one value or both, and MongoDB merges the two ranges in order.
  entry.index({ agentId: 1, isRead: 1, seq: -1 });
  // The last field serves a filter by both topic and sender.
  entry.index({ agentId: 1, fromAgentId: 1, isRead: 1, seq: -1, topic: 1 });
  entry.index({ agentId: 1, topic: 1, isRead: 1, seq: -1, fromAgentId: 1 }, given("topic"));
  entry.index({ messageId: 1 });

  const inbox = new Schema<InboxRecord>(
    { _id: text, unread: count, length: count, subscriptions: count },
    { ...options, collection: "message_inboxes" },
  );

  const topic = new Schema<TopicRecord>(
    { _id: text, seq: count, dueAt: nullableDate, retryAt: nullableDate, holder: optionalText },
    { ...options, collection: "message_topics" },
  );
  topic.index({ dueAt: 1 });

  const subscription = new Schema<SubscriptionRecord>(
    { _id: text, topic: text, agentId: text, deliveredSeq: count, isBlocked: flag, missed: count, createdAt: date },
    { ...options, collection: "message_subscriptions" },
  );
  subscription.index({ topic: 1, isBlocked: 1, deliveredSeq: 1 });
  subscription.index({ agentId: 1, topic: 1 });

  return {
    messages: connection.model<MessageRecord>("Message", message),
    inboxEntries: connection.model<InboxEntry>("InboxEntry", entry),
    inboxes: connection.model<InboxRecord>("MessageInbox", inbox),
    topics: connection.model<TopicRecord>("MessageTopic", topic),
    subscriptions: connection.model<SubscriptionRecord>("MessageSubscription", subscription),
  };
}
