import { Types } from "mongoose";
import type { ClientSession } from "mongoose";

import { insertPlain } from "../../db/plain-writes.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { DispatchKind, DispatchRecord, OutboxModels } from "./model.ts";

/** An address to which an event is sent. */
export interface DispatchTarget {
  agentId: string;
  url: string;
}

/** The parts of an event that the outbox needs. */
export interface OutgoingEvent {
  eventId: string;
  eventType: string;
  transactionId: string | null;
  orderKey: string | null;
  seq: number;
  bodyJson: string;
}

/** Puts dispatches into the outbox. */
export interface OutboxWriter {
  /** Writes them in the transaction that records their event. It only inserts, so transactions don't conflict here. */
  put(dispatches: readonly DispatchRecord[], session: ClientSession): Promise<void>;
}

/** The event that has a backup dispatch (specification 6). */
const BACKED_UP = "escrow.funded";
const ID_HEX_LENGTH = 32;

/** The id of a dispatch. The same event to the same address is the same dispatch. */
export function dispatchId(eventId: string, target: DispatchTarget, kind: DispatchKind): string {
  return `dlv_${sha256Hex([eventId, target.agentId, target.url, kind].join("|")).slice(0, ID_HEX_LENGTH)}`;
}

/** The id of the backup that waits for this dispatch's attempt; undefined if there is none. */
export function backupIdOf({ eventId, eventType, kind, agentId, url }: DispatchRecord): string | undefined {
  if (kind !== "immediate" || eventType !== BACKED_UP) return undefined;
  return dispatchId(eventId, { agentId, url }, "backup");
}

/** The dispatches of an event: one per address, and for `escrow.funded` a backup that waits for the first attempt. */
export function dispatchesOf(event: OutgoingEvent, targets: readonly DispatchTarget[], now: Date): DispatchRecord[] {
  const kinds: DispatchKind[] = event.eventType === BACKED_UP ? ["immediate", "backup"] : ["immediate"];
  return targets.flatMap((target) =>
    kinds.map((kind) => ({
      _id: dispatchId(event.eventId, target, kind),
      ...event,
      ...target,
      kind,
      status: "pending" as const,
      dueAt: kind === "immediate" ? now : null,
      attempts: [],
      holder: null,
      createdAt: now,
    })),
  );
}

/** The writer of the outbox. */
export function createOutboxWriter({ dispatches, arrivals }: OutboxModels): OutboxWriter {
  return {
    async put(records, session) {
      if (records.length === 0) return;
      const agentIds = [...new Set(records.map(({ agentId }) => agentId))];
      await insertPlain(dispatches, records, session);
      await insertPlain(
        arrivals,
        agentIds.map((agentId) => ({ _id: new Types.ObjectId(), agentId })),
        session,
      );
    },
  };
}
