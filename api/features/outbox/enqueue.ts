import { Types } from "mongoose";
import type { ClientSession } from "mongoose";

import { insertPlain } from "../../db/plain-writes.ts";
import { sha256Hex } from "../../lib/ids.ts";
import { INTERRUPTED } from "./model.ts";
import type { DispatchKind, DispatchRecord, OutboxModels } from "./model.ts";

/** A recipient address of an event. */
export interface DispatchTarget {
  agentId: string;
  url: string;
  /** The registration of the address; undefined for the address of a listing or a checkout. */
  webhook?: { webhookId: string; durable: boolean };
}

/** A merged target: an address gets an event once, however many registrations, listings or checkouts name it. */
type MergedTarget = Pick<DispatchRecord, "agentId" | "url" | "webhookId" | "durable" | "direct">;

/** The parts of an event that the outbox needs. */
export interface OutgoingEvent {
  eventId: string;
  eventType: string;
  transactionId: string | null;
  orderKey: string | null;
  seq: number;
  /** Null for an event of a log (see DispatchRecord). */
  bodyJson: string | null;
}

/** Puts dispatches into the outbox. */
export interface OutboxWriter {
  /** Writes dispatches in the transaction that records their event. Only inserts, so transactions don't conflict here. */
  enqueue(dispatches: readonly DispatchRecord[], session: ClientSession): Promise<void>;
  /**
   * Drops pending dispatches of these events, because the events were withdrawn. Running attempts aren't repeated. Durable
   * dispatches continue, so that an address gets every event of a chain in order.
   */
  drop(eventIds: readonly string[], session: ClientSession): Promise<void>;
}

/** Event type of a ping. Registrations can't subscribe to it. */
const PING = "webhook.ping";
/** The event that has a backup dispatch. */
const BACKED_UP = "escrow.funded";
const ID_HEX_LENGTH = 32;

/** The id of a dispatch, the same for the same event, agent, address and kind. */
export function dispatchId(
  eventId: string,
  target: Pick<DispatchTarget, "agentId" | "url">,
  kind: DispatchKind,
): string {
  return `dlv_${sha256Hex([eventId, target.agentId, target.url, kind].join("|")).slice(0, ID_HEX_LENGTH)}`;
}

/**
 * Whether a dispatch has a backup. A durable registration doesn't need one, but the address of a listing always has one.
 */
function hasBackup(eventType: string, { durable, direct }: Pick<DispatchRecord, "durable" | "direct">): boolean {
  return eventType === BACKED_UP && (!durable || direct);
}

/** The id of the backup that waits for this dispatch's attempt; undefined if there is none. */
export function backupIdOf(dispatch: DispatchRecord): string | undefined {
  const { eventId, eventType, kind, agentId, url } = dispatch;
  if (kind !== "immediate" || !hasBackup(eventType, dispatch)) return undefined;
  return dispatchId(eventId, { agentId, url }, "backup");
}

/** Normalises an address, so that different spellings are merged. */
const addressOf = (url: string): string => (URL.canParse(url) ? new URL(url).href : url);

/** Merges targets with the same agent and address. A durable registration prevails over others. */
function merged(targets: readonly DispatchTarget[]): MergedTarget[] {
  const byAddress = new Map<string, MergedTarget>();
  for (const { agentId, url, webhook } of targets) {
    const key = `${agentId} ${addressOf(url)}`;
    const known = byAddress.get(key);
    const prevails = webhook !== undefined && (known?.webhookId == null || (webhook.durable && !known.durable));
    byAddress.set(key, {
      agentId,
      url: known?.url ?? url,
      webhookId: prevails ? webhook.webhookId : (known?.webhookId ?? null),
      durable: prevails ? webhook.durable : (known?.durable ?? false),
      direct: webhook === undefined || (known?.direct ?? false),
    });
  }
  return [...byAddress.values()];
}

/** The dispatches of an event: one per address, and for `escrow.funded` a backup that waits for the first attempt. */
export function buildDispatches(event: OutgoingEvent, targets: readonly DispatchTarget[], now: Date): DispatchRecord[] {
  return merged(targets).flatMap((target) => {
    const kinds: DispatchKind[] = hasBackup(event.eventType, target) ? ["immediate", "backup"] : ["immediate"];
    return kinds.map((kind) => ({
      _id: dispatchId(event.eventId, target, kind),
      ...event,
      ...target,
      durable: target.durable && kind === "immediate",
      kind,
      redeliveryOf: null,
      status: "pending" as const,
      dueAt: kind === "immediate" ? now : null,
      attempts: [],
      holder: null,
      waits: 0,
      createdAt: now,
    }));
  });
}

/**
 * A dispatch that sends another one again: the same event with the same body. It is retried once and has no backup. It
 * doesn't wait for other dispatches, because it is out of order anyway.
 */
export function buildRedelivery(
  original: Omit<DispatchRecord, "attempts">,
  { _id, url, now }: { _id: string; url: string; now: Date },
): DispatchRecord {
  return {
    ...original,
    _id,
    url,
    durable: false,
    kind: "redelivery",
    redeliveryOf: original._id,
    status: "pending",
    dueAt: now,
    attempts: [],
    holder: null,
    waits: 0,
    createdAt: now,
  };
}

/** A trial of a registered webhook. It isn't in an event log, so its position there is 0. It is retried once. */
export function buildPing(
  { webhookId, agentId, url }: { webhookId: string; agentId: string; url: string },
  { _id, eventId, now }: { _id: string; eventId: string; now: Date },
): DispatchRecord {
  return {
    _id,
    eventId,
    eventType: PING,
    transactionId: null,
    orderKey: null,
    seq: 0,
    agentId,
    url,
    webhookId,
    durable: false,
    direct: false,
    kind: "ping",
    redeliveryOf: null,
    bodyJson: JSON.stringify({ event: PING, webhookId, sentAt: now.toISOString() }),
    status: "pending",
    dueAt: now,
    attempts: [],
    holder: null,
    waits: 0,
    createdAt: now,
  };
}

/** Creates the writer of the outbox. */
export function createOutboxWriter({ dispatches, arrivals }: OutboxModels): OutboxWriter {
  return {
    async enqueue(records, session) {
      if (records.length === 0) return;
      const agentIds = [...new Set(records.map(({ agentId }) => agentId))];
      await insertPlain(dispatches, records, session);
      await insertPlain(
        arrivals,
        agentIds.map((agentId) => ({ _id: new Types.ObjectId(), agentId })),
        session,
      );
    },

    async drop(eventIds, session) {
      if (eventIds.length === 0) return;
      // A running attempt may still end. Only the holder records its result, so clearing the holder discards that.
      const ended = { status: "dropped", dueAt: null, holder: null, attempts: INTERRUPTED };
      await dispatches.updateMany(
        { eventId: { $in: [...eventIds] }, status: "pending", durable: { $ne: true } },
        [{ $set: ended }],
        { session, updatePipeline: true },
      );
    },
  };
}
