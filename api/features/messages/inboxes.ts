import type { ClientSession } from "mongoose";

import { INBOX_LIMITS } from "../../config/constants.ts";
import type { InboxEntry, MessageModels, MessageRecord } from "./model.ts";

/** The entry of a message in an agent's inbox. */
export function toInboxEntry(message: MessageRecord, agentId: string, seq: number): InboxEntry {
  const { _id, fromAgentId, topic } = message;
  return {
    _id: inboxEntryId(_id, agentId),
    messageId: _id,
    agentId,
    seq,
    fromAgentId,
    topic,
    readAt: null,
    isRead: false,
  };
}

/** Id of a message's entry in an inbox. */
export function inboxEntryId(messageId: string, agentId: string): string {
  return `${messageId}:${agentId}`;
}

/**
 * Counts a new unread message in an inbox. Every arrival writes the inbox's record, so two arrivals can't both take
 * the last place.
 * @returns its position, or undefined if the inbox is full, in total or for this sender; the caller must then abort
 */
export async function takePlace(
  { inboxes, inboxEntries }: MessageModels,
  agentId: string,
  fromAgentId: string,
  session: ClientSession,
): Promise<number | undefined> {
  const { unread, length } = await inboxes
    .findOneAndUpdate(
      { _id: agentId },
      { $inc: { unread: 1, length: 1 }, $setOnInsert: { subscriptions: 0 } },
      { upsert: true, returnDocument: "after", session },
    )
    .lean()
    .orFail();
  if (unread > INBOX_LIMITS.unread) return undefined;
  const { unreadPerSender } = INBOX_LIMITS;
  const fromSender = await inboxEntries
    .countDocuments({ agentId, fromAgentId, isRead: false }, { session })
    .limit(unreadPerSender);
  return fromSender < unreadPerSender ? length : undefined;
}
