import type { Connection } from "mongoose";

import { isDuplicateKey, withTransaction } from "../../../db/connection.ts";
import { ApiError } from "../../../http/errors.ts";
import { sha256Hex } from "../../../lib/ids.ts";
import type { DispatchModel, DispatchRecord } from "../../outbox/model.ts";
import { buildRedelivery } from "../../outbox/enqueue.ts";
import type { OutboxWriter } from "../../outbox/enqueue.ts";
import type { Registrations } from "../registrations/service.ts";
import { notActive } from "./redeliveries.ts";
import type { WebhookRecord } from "../registrations/model.ts";

/** The result of a request to send missed events again. */
export interface MissedEventsResult {
  /** Number of events queued again. */
  queued: number;
  /** The time for the next call if there may be more missed events; else null. */
  next: Date | null;
}

/** Sends again the events that a registered webhook has missed. */
export interface MissedEvents {
  /**
   * Queues each event since a time that has no acknowledged or waiting dispatch to the webhook, and fewer than ten
   * failed ones. Concurrent calls and repeats queue no event twice. At most 1,000 events a call, oldest first.
   * @throws ApiError `not_found`; `webhook_not_active` if the webhook is disabled
   */
  sendAgain(agentId: string, webhookId: string, since: Date): Promise<MissedEventsResult>;
}

/** Dependencies of missed events. */
export interface MissedEventsOptions {
  connection: Connection;
  dispatches: DispatchModel;
  writer: OutboxWriter;
  registrations: Registrations;
  now: () => Date;
}

const QUEUED_AT_MOST = 1_000;
/** Higher than the queue limit, because many failed dispatches have often been sent again already. */
const READ_AT_MOST = 10_000;
/** Dispatches read at once. One transaction queues a page's events. */
const PAGE = 50;
/**
 * Maximum number of dispatches of an event to one webhook. Each call may queue every event once more, so a receiver that
 * always fails could otherwise fill the database.
 */
export const DISPATCHES_AT_MOST = 10;
/** Attempts to queue a page while other calls queue events of it. */
const TRIES = 5;
const ID_HEX_LENGTH = 32;

/** A position among missed dispatches. */
type Position = Pick<DispatchRecord, "_id" | "createdAt">;

/** Selects the failed first dispatches of a webhook after a position. Redeliveries are found by their event. */
export function missedFilter(agentId: string, webhookId: string, after: Position) {
  return {
    agentId,
    webhookId,
    status: { $in: ["failed", "dropped"] as ("failed" | "dropped")[] },
    // The first condition is redundant, but it bounds the index range however MongoDB plans the second one.
    createdAt: { $gte: after.createdAt },
    $or: [{ createdAt: { $gt: after.createdAt } }, { createdAt: after.createdAt, _id: { $gt: after._id } }],
    kind: { $in: ["immediate", "backup"] as ("immediate" | "backup")[] },
  };
}

/** The order of missed dispatches: oldest first. */
export const MISSED_ORDER = { createdAt: 1, _id: 1 } as const;

/** Selects all dispatches of these events to an agent's webhook. */
export function dispatchesOfEvents(agentId: string, webhookId: string, eventIds: readonly string[]) {
  return { eventId: { $in: [...eventIds] }, agentId, webhookId };
}

/** The fields that decide whether an event was missed. */
type SentDispatch = Position & Pick<DispatchRecord, "eventId" | "status">;

/** Ids of the latest dispatch of each event that has none acknowledged or waiting, and that may be sent again. */
function latestMissed(sent: readonly SentDispatch[]): string[] {
  const ofEvents = Map.groupBy(sent, ({ eventId }) => eventId);
  const isMissed = ({ status }: SentDispatch) => status === "failed" || status === "dropped";
  const isLater = (a: Position, b: Position) =>
    a.createdAt.getTime() - b.createdAt.getTime() || (a._id < b._id ? -1 : 1);
  return [...ofEvents.values()].flatMap((all) =>
    all.every(isMissed) && all.length < DISPATCHES_AT_MOST
      ? all
          .toSorted(isLater)
          .slice(-1)
          .map(({ _id }) => _id)
      : [],
  );
}

/** Finds missed events in the outbox. */
export function createMissedEvents({ connection, dispatches, ...options }: MissedEventsOptions): MissedEvents {
  const { writer, registrations, now } = options;

  /** Queues those of these events that are still missed. Returns their number. */
  async function queue({ agentId, _id: webhookId, url }: WebhookRecord, eventIds: readonly string[]): Promise<number> {
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      const sent = await dispatches
        .find(dispatchesOfEvents(agentId, webhookId, eventIds), { _id: 1, createdAt: 1, eventId: 1, status: 1 })
        .lean();
      const missed = await dispatches.find({ _id: { $in: latestMissed(sent) } }, { attempts: 0 }).lean();
      const at = now();
      const again = missed.map((latest) =>
        // The id derives from the failed dispatch, so two calls can't both send it again.
        buildRedelivery(latest, {
          _id: `dlv_${sha256Hex(`${latest._id}|missed`).slice(0, ID_HEX_LENGTH)}`,
          url,
          now: at,
        }),
      );
      try {
        await withTransaction(connection, (session) => writer.enqueue(again, session));
        return again.length;
      } catch (error) {
        // Another call has queued one of them. The next read finds it waiting.
        if (!isDuplicateKey(error)) throw error;
      }
    }
    throw new ApiError("service_unavailable", { retryAfterSeconds: 1 });
  }

  return {
    async sendAgain(agentId, webhookId, since) {
      const webhook = await registrations.get(agentId, webhookId);
      if (webhook.status !== "active") throw notActive(webhookId, "the webhook is disabled");
      let after: Position = { _id: "", createdAt: since };
      let queued = 0;
      for (let read = 0; queued < QUEUED_AT_MOST && read < READ_AT_MOST;) {
        const page = await dispatches
          .find(missedFilter(agentId, webhookId, after), { _id: 1, createdAt: 1, eventId: 1 })
          .sort(MISSED_ORDER)
          .limit(Math.min(PAGE, QUEUED_AT_MOST - queued))
          .lean();
        const last = page.at(-1);
        if (last === undefined) return { queued, next: null };
        queued += await queue(webhook, [...new Set(page.map(({ eventId }) => eventId))]);
        read += page.length;
        after = last;
      }
      return { queued, next: after.createdAt };
    },
  };
}
