import type { ClientSession } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { dispatchesOf } from "../outbox/put.ts";
import type { DispatchTarget, OutboxWriter } from "../outbox/put.ts";
import { eventId } from "./event-id.ts";
import type { EventModels, EventRecord, EventType } from "./model.ts";

/** The body of an event: what section 6 of the specification names, then what decision 37 adds. */
export type EventBody = Record<string, unknown> & { event: string; transactionId: string };

/** The escrow that an event is about, as its transaction has it. */
export interface EventSubject {
  /** Transaction id. */
  _id: string;
  network: Network;
  escrowContract: `0x${string}`;
  escrowId: `0x${string}`;
  /** True for an escrow without a checkout. */
  unsolicited: boolean;
}

/** An event to be recorded, with the agents in whose log it stands and the addresses that it is sent to. */
export interface Announcement {
  type: EventType;
  record: EventSubject;
  body: EventBody;
  incarnation: number;
  /** Tells events of one type and incarnation apart, where an escrow can have several; see `escrow.reorged`. */
  qualifier?: string;
  recipients: readonly (string | null)[];
  targets: readonly DispatchTarget[];
  occurredAt: Date;
}

/** The id that an announcement will have. */
export function announcementId(announcement: Announcement): string {
  const { record, type, qualifier, incarnation } = announcement;
  return eventId({
    network: record.network,
    escrowContract: record.escrowContract,
    // A taken escrow id has two records, each with events of its own.
    escrowId: record.unsolicited ? `${record.escrowId}:unsolicited` : record.escrowId,
    type: qualifier === undefined ? type : `${type}:${qualifier}`,
    incarnation,
  });
}

/** Writes events and their dispatches together. */
export interface EventRecorder {
  /**
   * Records what has not been recorded yet, in the given order, and puts its dispatches into the outbox, all in the
   * caller's transaction. Every recording writes the one counter of the log, so that two at once cannot both commit:
   * the log's order is the order of the commits and no reader ever sees a gap close behind it.
   */
  record(announcements: readonly Announcement[], session: ClientSession): Promise<void>;
}

const SEQUENCE = "events";

/** The writer of the event log and the outbox. */
export function createEventRecorder(
  models: Pick<EventModels, "events" | "counters">,
  outbox: OutboxWriter,
  now: () => Date,
): EventRecorder {
  return {
    async record(announcements, session) {
      const byId = new Map(announcements.map((announcement) => [announcementId(announcement), announcement]));
      const known = await models.events.find({ _id: { $in: [...byId.keys()] } }, { _id: 1 }, { session }).lean();
      for (const { _id } of known) byId.delete(_id);
      if (byId.size === 0) return;

      const counter = await models.counters.findOneAndUpdate(
        { _id: SEQUENCE },
        { $inc: { value: byId.size } },
        { upsert: true, returnDocument: "after", session, lean: true },
      );
      const createdAt = now();
      let seq = (counter?.value ?? byId.size) - byId.size;
      const records: EventRecord[] = [];
      const outgoing = [];
      for (const [id, announcement] of byId) {
        seq += 1;
        const { record, type, body } = announcement;
        const bodyJson = JSON.stringify(body);
        records.push({
          _id: id,
          seq,
          type,
          transactionId: record._id,
          network: record.network,
          escrowId: record.escrowId,
          recipients: [...new Set(announcement.recipients.filter((agentId) => agentId !== null))],
          bodyJson,
          occurredAt: announcement.occurredAt,
          createdAt,
        });
        const event = { eventId: id, eventType: type, transactionId: record._id, bodyJson };
        outgoing.push(...dispatchesOf(event, announcement.targets, createdAt));
      }
      await models.events.insertMany(records, { session });
      await outbox.put(outgoing, session);
    },
  };
}
