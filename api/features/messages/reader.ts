import type { Connection } from "mongoose";
import type { z } from "zod";

import { withTransaction } from "../../db/connection.ts";
import { fitting, readPage, RECORD_BYTES } from "../../db/pages.ts";
import { ApiError } from "../../http/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { inboxEntryId } from "./inboxes.ts";
import type { MessageModels, MessageRecord } from "./model.ts";
import type { ReadMessage } from "./presenter.ts";
import type { listQuery, pageQuery } from "./schemas.ts";

type ListQuery = z.output<typeof listQuery>;

/** A page, and the position after which the next one starts; null on the last page. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
}

/** A message without its content. */
export type MessageFacts = Pick<MessageRecord, "_id" | "fromAgentId" | "toAgentId" | "createdAt">;

/** The inbox position of a cursor. A cursor of another list has none, and its page is empty. */
function parsePosition({ after }: { after: string }): number {
  return /^\d{1,15}$/.test(after) ? Number(after) : 0;
}

/** The database filter of an inbox. */
export function inboxFilter(agentId: string, { unread, from, topic, cursor }: ListQuery) {
  return {
    agentId,
    ...(from === undefined ? {} : { fromAgentId: from }),
    ...(topic === undefined ? {} : { topic }),
    isRead: unread === undefined ? { $in: [false, true] } : unread === "false",
    ...(cursor === undefined ? {} : { seq: { $lt: parsePosition(cursor) } }),
  };
}

/** The database filter of an agent's sent messages. */
export function sentFilter(agentId: string, { topic, cursor }: Pick<ListQuery, "topic" | "cursor">) {
  return {
    fromAgentId: agentId,
    ...(topic === undefined ? {} : { topic }),
    ...(cursor === undefined ? {} : { _id: { $lt: cursor.after } }),
  };
}

/** Newest first. */
const MESSAGE_ORDER = { _id: -1 } as const;

/** Reads messages for their senders and recipients. For other agents they are `not_found`. */
export class MessageReader {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #messages: MessageModels["messages"];
  readonly #inboxEntries: MessageModels["inboxEntries"];
  readonly #inboxes: MessageModels["inboxes"];

  constructor(connection: Connection, models: MessageModels, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
    this.#messages = models.messages;
    this.#inboxEntries = models.inboxEntries;
    this.#inboxes = models.inboxes;
  }

  /** @throws ApiError `not_found` */
  async read(agentId: string, messageId: string): Promise<ReadMessage> {
    const [message, entry] = await Promise.all([
      this.#messages.findById(messageId).lean(),
      this.#inboxEntries.findById(inboxEntryId(messageId, agentId)).lean(),
    ]);
    if (message === null || (entry === null && message.fromAgentId !== agentId)) throw new ApiError("not_found");
    return { message, readAt: entry?.readAt ?? null };
  }

  /** A message that an agent has received. @throws ApiError `not_found` */
  async findReceived(agentId: string, messageId: string): Promise<MessageRecord> {
    const [message, entry] = await Promise.all([
      this.#messages.findById(messageId).lean(),
      this.#inboxEntries.exists({ _id: inboxEntryId(messageId, agentId) }),
    ]);
    if (message === null || entry === null) throw new ApiError("not_found", { details: { messageId } });
    return message;
  }

  /** The caller's inbox or its sent messages, newest first. */
  async list(agentId: string, query: ListQuery): Promise<Page<ReadMessage>> {
    if (query.box === "inbox") return this.#listInbox(agentId, query);
    const { limit } = query;
    const filter = sentFilter(agentId, query);
    const { records, next } = await readPage(this.#messages, filter, { sort: MESSAGE_ORDER, limit });
    return { items: records.map((message) => ({ message, readAt: null })), next };
  }

  /**
   * Sets or removes the caller's own read mark. A repeat changes nothing.
   * @throws ApiError `not_found`, or `wrong_role` for the sender
   */
  async mark(agentId: string, messageId: string, isRead: boolean): Promise<ReadMessage> {
    const now = this.#clock.now();
    const isRecipient = await withTransaction(this.#connection, async (session) => {
      const _id = inboxEntryId(messageId, agentId);
      const readAt = isRead ? now : null;
      const changed = await this.#inboxEntries.updateOne(
        { _id, agentId, isRead: !isRead },
        { $set: { isRead, readAt } },
        { session },
      );
      if (changed.modifiedCount === 0) return (await this.#inboxEntries.exists({ _id }).session(session)) !== null;
      await this.#inboxes.updateOne({ _id: agentId }, { $inc: { unread: isRead ? -1 : 1 } }, { session });
      return true;
    });
    const found = await this.read(agentId, messageId);
    if (!isRecipient) throw new ApiError("wrong_role", { details: { needed: "recipient" } });
    return found;
  }

  /** Ucp messages that the caller has sent or received, newest first. */
  async listUcp(agentId: string, { limit, cursor }: z.output<typeof pageQuery>): Promise<Page<MessageRecord>> {
    const filter = { ucpParties: agentId, ...(cursor === undefined ? {} : { _id: { $lt: cursor.after } }) };
    const { records, next } = await readPage(this.#messages, filter, { sort: MESSAGE_ORDER, limit });
    return { items: records, next };
  }

  /** The messages about a transaction that an agent has sent or received, oldest first, at most `limit`. */
  async readByTransaction(transactionId: string, agentId: string, limit: number): Promise<MessageFacts[]> {
    const facts = { fromAgentId: 1, toAgentId: 1, createdAt: 1 } as const;
    const found = await this.#messages.find({ transactionId }, facts).sort({ _id: 1 }).limit(limit).lean();
    // Every message about a transaction is between its two parties.
    return found.filter(({ fromAgentId, toAgentId }) => fromAgentId === agentId || toAgentId === agentId);
  }

  async #listInbox(agentId: string, query: ListQuery): Promise<Page<ReadMessage>> {
    const found = await this.#inboxEntries
      .find(inboxFilter(agentId, query))
      .sort({ seq: -1 })
      .limit(query.limit + 1)
      .lean();
    const sizes = await this.#messages
      .find({ _id: { $in: found.map(({ messageId }) => messageId) } }, RECORD_BYTES)
      .lean<{ _id: string; bytes: number }[]>();
    const bytesOf = new Map(sizes.map(({ _id, bytes }) => [_id, bytes]));
    const sized = found.map((entry) => ({ ...entry, bytes: bytesOf.get(entry.messageId) ?? 0 }));
    const page = fitting(sized.slice(0, query.limit));
    const records = await this.#messages.find({ _id: { $in: page.map(({ messageId }) => messageId) } }).lean();
    const byId = new Map(records.map((message) => [message._id, message]));
    const items = page.flatMap(({ messageId, readAt }) => {
      // Retention may have deleted the message since its entry was read.
      const message = byId.get(messageId);
      return message === undefined ? [] : [{ message, readAt }];
    });
    const last = page.at(-1);
    return { items, next: page.length < found.length && last !== undefined ? String(last.seq) : null };
  }
}
