import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import type { ENCRYPTION_ALGORITHM } from "../../config/constants.ts";

/** An encrypted content as its sender made it (decision 28). The service has no key for it. */
export interface EncryptedContent {
  v: 1;
  alg: typeof ENCRYPTION_ALGORITHM;
  /** Uncompressed secp256k1 key, `0x04…`. */
  ephemeralPublicKey: string;
  /** Base64 of 12 bytes, of any number of bytes, and of 16 bytes. */
  iv: string;
  ciphertext: string;
  tag: string;
}

/** A message to one agent or to a topic (specification 2.7, decision 28). It never changes. */
export interface MessageRecord {
  /** `msg_…`, sorted by the time of sending. */
  _id: string;
  fromAgentId: string;
  /** Exactly one of the two isn't null. */
  toAgentId: string | null;
  topic: string | null;
  /** Position in the topic: 1, 2, 3 and so on, in commit order. Null for a direct message. */
  topicSeq: number | null;
  contentType: string;
  /** JSON text of the body. Exactly one of the two isn't null. */
  bodyJson: string | null;
  encrypted: EncryptedContent | null;
  /** Hash of recipient, ephemeral key and iv: the same ciphertext can't be sent to an agent twice. */
  encryptionId?: string;
  /** Type of a ucp message, and its sender and recipient; missing in others (decision 29). */
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
  /** Null until the recipient has read it. `isRead` says the same for indexes. */
  readAt: Date | null;
  isRead: boolean;
}

/** Counts of one agent. Every write to an inbox changes them, so limits are exact. */
export interface InboxRecord {
  /** Agent id. */
  _id: string;
  unread: number;
  /** Messages that have arrived so far. */
  length: number;
  subscriptions: number;
}

/** A topic that somebody has published to or subscribed to. */
export interface TopicRecord {
  /** Its name. */
  _id: string;
  /** Number of messages so far. */
  seq: number;
  /** When a worker should look for subscribers that lack messages; null if nobody does. During a turn, its lease's end. */
  dueAt: Date | null;
  /** When full inboxes of subscribers are tried again; null if there are none. */
  retryAt: Date | null;
  /** The turn that delivers it; null between turns. */
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
  /** Messages that found no room for 24 hours and were skipped. */
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
  // The planner knows that a query by a text lies within this filter; it doesn't know that of `$type`.
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
  // What is at the end serves a filter by topic and sender.
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
