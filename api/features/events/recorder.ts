import type { ClientSession } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { insertPlain, writePlain } from "../../db/plain-writes.ts";
import { dispatchesOf } from "../outbox/put.ts";
import type { DispatchTarget, OutboxWriter } from "../outbox/put.ts";
import { eventId, logEntryId } from "./event-id.ts";
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

/** The id of an event about an escrow. */
export function eventIdOf(record: EventSubject, type: string, incarnation: number): string {
  return eventId({
    network: record.network,
    escrowContract: record.escrowContract,
    // A taken escrow id has two records, each with events of its own.
    escrowId: record.unsolicited ? `${record.escrowId}:unsolicited` : record.escrowId,
    type,
    incarnation,
  });
}

/** The id that an announcement will have. */
export function announcementId({ record, type, qualifier, incarnation }: Announcement): string {
  return eventIdOf(record, qualifier === undefined ? type : `${type}:${qualifier}`, incarnation);
}

/** An event that may have been recorded. */
export interface EventCandidate {
  eventId: string;
  recipients: readonly (string | null)[];
}

/** Writes events and their dispatches together. */
export interface EventRecorder {
  /**
   * Adds to the log of each recipient what it lacks, in the given order, and puts the dispatches into the outbox, all in
   * the caller's transaction. Every recording writes the length of each log that it extends, so that two at once can't
   * both commit: a log's order is the order of the commits, and no reader sees a gap close behind it. Recordings for
   * different agents don't disturb each other.
   */
  record(announcements: readonly Announcement[], session: ClientSession): Promise<void>;
  /** Ids of those events that are in the log of one of their possible recipients. */
  recorded(candidates: readonly EventCandidate[], session: ClientSession): Promise<Set<string>>;
}

/** An announcement in the log of one of its recipients. */
interface Entry {
  eventId: string;
  agentId: string;
  announcement: Announcement;
}

function entriesOf(announcements: readonly Announcement[]): Map<string, Entry> {
  const entries = announcements.flatMap((announcement) => {
    const id = announcementId(announcement);
    return announcement.recipients.flatMap((agentId) =>
      agentId === null ? [] : [[logEntryId(id, agentId), { eventId: id, agentId, announcement }] as const],
    );
  });
  return new Map(entries);
}

/** The writer of the event log and the outbox. */
export function createEventRecorder(
  { events, lengths }: EventModels,
  outbox: OutboxWriter,
  now: () => Date,
): EventRecorder {
  /** Extends the logs of agents; returns for each the position after which it continues. */
  async function extend(counts: ReadonlyMap<string, number>, session: ClientSession): Promise<Map<string, number>> {
    // In one order everywhere, so that two recordings for the same agents meet at the first of them.
    const agentIds = [...counts.keys()].sort();
    const stored = await lengths.find({ _id: { $in: agentIds } }, null, { session }).lean();
    await writePlain(
      lengths,
      agentIds.map((agentId) => ({
        updateOne: { filter: { _id: agentId }, update: { $inc: { length: counts.get(agentId) ?? 0 } }, upsert: true },
      })),
      session,
    );
    return new Map(stored.map(({ _id, length }) => [_id, length]));
  }

  return {
    async record(announcements, session) {
      const entries = entriesOf(announcements);
      if (entries.size === 0) return;
      const known = await events.find({ _id: { $in: [...entries.keys()] } }, { _id: 1 }, { session }).lean();
      for (const { _id } of known) entries.delete(_id);
      if (entries.size === 0) return;

      const byAgent = Map.groupBy(entries.values(), ({ agentId }) => agentId);
      const counts = new Map([...byAgent].map(([agentId, own]) => [agentId, own.length]));
      const positions = await extend(counts, session);
      const createdAt = now();
      const records: EventRecord[] = [];
      const outgoing = [];
      for (const [entryId, { eventId: id, agentId, announcement }] of entries) {
        const { record, type, body, targets, occurredAt } = announcement;
        const seq = (positions.get(agentId) ?? 0) + 1;
        positions.set(agentId, seq);
        const bodyJson = JSON.stringify(body);
        records.push({
          _id: entryId,
          ...{ eventId: id, agentId, seq, type, bodyJson, occurredAt, createdAt },
          transactionId: record._id,
          network: record.network,
          escrowId: record.escrowId,
        });
        const event = { eventId: id, eventType: type, transactionId: record._id, bodyJson };
        const own = targets.filter((target) => target.agentId === agentId);
        outgoing.push(...dispatchesOf(event, own, createdAt));
      }
      await insertPlain(events, records, session);
      await outbox.put(outgoing, session);
    },

    async recorded(candidates, session) {
      const entryIds = candidates.flatMap(({ eventId: id, recipients }) =>
        recipients.flatMap((agentId) => (agentId === null ? [] : [logEntryId(id, agentId)])),
      );
      if (entryIds.length === 0) return new Set();
      const found = await events.find({ _id: { $in: entryIds } }, { eventId: 1 }, { session }).lean();
      return new Set(found.map(({ eventId: id }) => id));
    },
  };
}
