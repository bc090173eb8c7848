import type { ClientSession } from "mongoose";

import { sha256Hex } from "../../lib/ids.ts";
import type { DeliveryKind, DeliveryModel, DeliveryRecord } from "./model.ts";

/** An address that an event goes to. */
export interface DeliveryTarget {
  agentId: string;
  url: string;
}

/** An event as the outbox needs it. */
export interface OutgoingEvent {
  eventId: string;
  eventType: string;
  transactionId: string;
  bodyJson: string;
}

/** The event that has a backup delivery (specification 6). */
const BACKED_UP = "escrow.funded";
const ID_HEX_LENGTH = 32;

/** The id of a delivery: the same event to the same address is the same delivery. */
export function deliveryId(eventId: string, target: DeliveryTarget, kind: DeliveryKind): string {
  return `dlv_${sha256Hex([eventId, target.agentId, target.url, kind].join("|")).slice(0, ID_HEX_LENGTH)}`;
}

/** The deliveries of an event: one to each address, and for `escrow.funded` a backup that waits for the first attempt. */
export function deliveriesOf(event: OutgoingEvent, targets: readonly DeliveryTarget[], now: Date): DeliveryRecord[] {
  const kinds: DeliveryKind[] = event.eventType === BACKED_UP ? ["immediate", "backup"] : ["immediate"];
  return targets.flatMap((target) =>
    kinds.map((kind) => ({
      _id: deliveryId(event.eventId, target, kind),
      ...event,
      ...target,
      kind,
      status: "pending" as const,
      notBefore: kind === "immediate" ? now : null,
      attempts: [],
      leaseOwner: null,
      leaseUntil: null,
      createdAt: now,
    })),
  );
}

/** Puts deliveries into the outbox in the transaction that records their event. */
export async function enqueueDeliveries(
  model: DeliveryModel,
  deliveries: readonly DeliveryRecord[],
  session: ClientSession,
): Promise<void> {
  if (deliveries.length > 0) await model.insertMany(deliveries, { session });
}
