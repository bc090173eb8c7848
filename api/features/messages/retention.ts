import type { Connection } from "mongoose";

import { MESSAGE_RETENTION_DAYS } from "../../config/constants.ts";
import { withTransaction } from "../../db/connection.ts";
import { writePlain } from "../../db/plain-writes.ts";
import type { Clock } from "../../lib/clock.ts";
import { logEntryId, recordEventId } from "../events/event-id.ts";
import type { EventModel } from "../events/model.ts";
import type { MessageModels, MessageRecord } from "./model.ts";
import { toEventBody } from "./presenter.ts";

/** Dependencies of the retention. */
export interface RetentionDeps {
  connection: Connection;
  models: MessageModels;
  events: EventModel;
  clock: Clock;
}

/** Deletes messages past their retention. Returns the number of deleted messages. */
export type ExpireMessages = (signal: AbortSignal) => Promise<number>;

const DAY_MS = 86_400_000;
const MESSAGES_PER_LOOK = 100;
const ENTRIES_PER_BATCH = 200;

/**
 * Deletes old messages with their inbox entries. Their events stay in the logs without content, so log positions have no
 * gaps. A message is deleted after its entries, so the next run finishes the work of a killed one.
 */
export function createExpireMessages({ connection, models, events, clock }: RetentionDeps): ExpireMessages {
  const { messages, inboxEntries, inboxes } = models;

  /** Removes a batch of a message's inbox entries. Returns false if none are left. */
  function removeEntries(message: MessageRecord): Promise<boolean> {
    return withTransaction(connection, async (session) => {
      const found = await inboxEntries
        .find({ messageId: message._id }, null, { session })
        .limit(ENTRIES_PER_BATCH)
        .lean();
      if (found.length === 0) return false;
      await inboxEntries.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } }, { session });
      const unread = found.filter(({ isRead }) => !isRead).map(({ agentId }) => agentId);
      await inboxes.updateMany({ _id: { $in: unread } }, { $inc: { unread: -1 } }, { session });
      const eventId = recordEventId(message._id, "message.received");
      const bodyJson = JSON.stringify(toEventBody(message, false));
      await writePlain(
        events,
        found.map(({ agentId }) => ({
          updateOne: { filter: { _id: logEntryId(eventId, agentId) }, update: { $set: { bodyJson } } },
        })),
        session,
      );
      return true;
    });
  }

  return async (signal) => {
    const before = new Date(clock.now().getTime() - MESSAGE_RETENTION_DAYS * DAY_MS);
    let deleted = 0;
    for (;;) {
      const old = await messages
        .find({ createdAt: { $lt: before } })
        .sort({ createdAt: 1 })
        .limit(MESSAGES_PER_LOOK)
        .lean();
      if (old.length === 0) return deleted;
      for (const message of old) {
        if (signal.aborted) return deleted;
        while (await removeEntries(message));
        await messages.deleteOne({ _id: message._id });
        deleted += 1;
      }
    }
  };
}
