import type { ClientSession } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { extendLengths } from "../../db/lengths.ts";
import { insertPlain } from "../../db/plain-writes.ts";
import { buildDispatches } from "../outbox/enqueue.ts";
import type { DispatchTarget, OutboxWriter } from "../outbox/enqueue.ts";
import type { AuditedEvent, AuditTrail } from "./audit-trail.ts";
import { eventId, logEntryId, recordEventId } from "./event-id.ts";
import type { EventModels, EventRecord, EventType } from "./model.ts";
import type { Subscription, Subscriptions } from "./subscriptions.ts";

/** The body of an event: its name, then further fields by its type. */
export type EventBody = Record<string, unknown> & { event: string };

/** The escrow that an event is about, as recorded in its transaction. */
export interface EventSubject {
  /** Transaction id. */
  _id: string;
  network: Network;
  escrowContract: `0x${string}`;
  escrowId: `0x${string}`;
  /** True for an escrow without a checkout. */
  unsolicited: boolean;
}

/** A record other than an escrow that an event is about, such as a message. */
export interface StandaloneSubject {
  /** Identifies the event together with its type. */
  recordId: string;
  /** The transaction that the record belongs to, if there is one. */
  transactionId: string | null;
  /** Durable dispatches with the same key reach an address in the order of their events; null if any order will do. */
  orderKey: string | null;
}

/** An event to be recorded, with the agents whose logs get it and the addresses that it is sent to. */
export interface Announcement {
  type: EventType;
  record: EventSubject | StandaloneSubject;
  body: EventBody;
  incarnation: number;
  /** Distinguishes events of one type and incarnation where an escrow can have several; see `escrow.reorged`. */
  qualifier?: string;
  recipients: readonly (string | null)[];
  /** Agents whose audit trails get the event: both parties of an escrow. None for other records. */
  parties?: readonly (string | null)[];
  targets: readonly DispatchTarget[];
  /** Earlier events that this one withdraws: what still waits to announce them isn't sent. */
  withdrawn?: readonly string[];
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
function announcementId({ record, type, qualifier, incarnation }: Announcement): string {
  if ("recordId" in record) return recordEventId(record.recordId, type);
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
   * Adds the missing events to each recipient's log and each party's audit trail, in the given order and in the caller's
   * transaction. It also puts their dispatches into the outbox: to the addresses that an announcement names and to those
   * that its recipients have registered. Every recording writes the length of each log that it extends, so two at once can't
   * both commit. A log is therefore in commit order, and no event appears behind a position that a reader has passed.
   * Recordings for different agents don't conflict.
   */
  record(announcements: readonly Announcement[], session: ClientSession): Promise<void>;
  /**
   * Ids of the events that are already in the log of one of their possible recipients, or in an audit trail: a party has
   * in its trail what only the other one is told.
   */
  recorded(candidates: readonly EventCandidate[], session: ClientSession): Promise<Set<string>>;
}

/** The fields of an announcement's subject that its log entries and dispatches keep. */
function toSubject(record: EventSubject | StandaloneSubject) {
  if ("recordId" in record) {
    return { transactionId: record.transactionId, network: null, escrowId: null, orderKey: record.orderKey };
  }
  const { _id, network, escrowId } = record;
  return { transactionId: _id, network, escrowId, orderKey: _id };
}

/** An announcement for one recipient's log. */
interface Entry {
  eventId: string;
  agentId: string;
  announcement: Announcement;
}

function toEntries(announcements: readonly Announcement[]): Map<string, Entry> {
  const entries = announcements.flatMap((announcement) => {
    const id = announcementId(announcement);
    return announcement.recipients.flatMap((agentId) =>
      agentId === null ? [] : [[logEntryId(id, agentId), { eventId: id, agentId, announcement }] as const],
    );
  });
  return new Map(entries);
}

/** Dependencies of the recorder. */
export interface EventRecorderOptions {
  models: EventModels;
  outbox: OutboxWriter;
  subscriptions: Subscriptions;
  /** Takes the events of escrows for both parties. */
  audit: AuditTrail;
  now: () => Date;
}

/** The targets of an event for one agent: the addresses that the event names, then the agent's registrations. */
function pickTargets({ agentId, announcement }: Entry, subscriptions: readonly Subscription[]): DispatchTarget[] {
  const named = announcement.targets.filter((target) => target.agentId === agentId);
  const registered = subscriptions
    .filter((subscription) => subscription.events.includes(announcement.type))
    .map(({ webhookId, url, durable }): DispatchTarget => ({ agentId, url, webhook: { webhookId, durable } }));
  return [...named, ...registered];
}

function auditedEvents(announcements: readonly Announcement[]): AuditedEvent[] {
  return announcements.flatMap((announcement) => {
    const { record, type, body, occurredAt, parties = [] } = announcement;
    if ("recordId" in record) return [];
    const agentIds = parties.filter((agentId) => agentId !== null);
    return [{ eventId: announcementId(announcement), type, transactionId: record._id, agentIds, body, occurredAt }];
  });
}

/** The writer of the event log, the audit trails and the outbox. */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { outbox, subscriptions, audit, now } = options;
  const { events, lengths } = options.models;

  return {
    async record(announcements, session) {
      await audit.write(auditedEvents(announcements), session);
      await outbox.drop(
        announcements.flatMap(({ withdrawn = [] }) => withdrawn),
        session,
      );
      const entries = toEntries(announcements);
      if (entries.size === 0) return;
      const known = await events.find({ _id: { $in: [...entries.keys()] } }, { _id: 1 }, { session }).lean();
      for (const { _id } of known) entries.delete(_id);
      if (entries.size === 0) return;

      const byAgent = Map.groupBy(entries.values(), ({ agentId }) => agentId);
      const counts = new Map([...byAgent].map(([agentId, own]) => [agentId, own.length]));
      const positions = await extendLengths(lengths, counts, session);
      const types = [...new Set(entries.values().map(({ announcement }) => announcement.type))];
      const registered = Map.groupBy(
        await subscriptions.of([...byAgent.keys()], types, session),
        ({ agentId }) => agentId,
      );
      const createdAt = now();
      const records: EventRecord[] = [];
      const outgoing = [];
      for (const [entryId, entry] of entries) {
        const { eventId: id, agentId, announcement } = entry;
        const { record, type, body, occurredAt } = announcement;
        const seq = (positions.get(agentId) ?? 0) + 1;
        positions.set(agentId, seq);
        const { orderKey, ...subject } = toSubject(record);
        records.push({
          _id: entryId,
          eventId: id,
          agentId,
          seq,
          type,
          bodyJson: JSON.stringify(body),
          occurredAt,
          createdAt,
          ...subject,
        });
        const { transactionId } = subject;
        // An event may go to dozens of addresses, and a body has up to 256 KB: only the log has it.
        const event = { eventId: id, eventType: type, transactionId, orderKey, seq, bodyJson: null };
        outgoing.push(...buildDispatches(event, pickTargets(entry, registered.get(agentId) ?? []), createdAt));
      }
      await insertPlain(events, records, session);
      await outbox.enqueue(outgoing, session);
    },

    async recorded(candidates, session) {
      const entryIds = candidates.flatMap(({ eventId: id, recipients }) =>
        recipients.flatMap((agentId) => (agentId === null ? [] : [logEntryId(id, agentId)])),
      );
      const audited = await audit.recorded([...new Set(candidates.map(({ eventId: id }) => id))], session);
      if (entryIds.length === 0) return audited;
      const found = await events.find({ _id: { $in: entryIds } }, { eventId: 1 }, { session }).lean();
      return new Set([...audited, ...found.map(({ eventId: id }) => id)]);
    },
  };
}
