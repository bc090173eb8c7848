import type { IndexedEvent } from "../../indexer/schemas.ts";
import type { TransactionRecord } from "./model.ts";
import type { DispatchTarget } from "../outbox/enqueue.ts";
import * as payloads from "./payloads.ts";
import type { Announcement } from "../events/recorder.ts";

/** The parts of a move that an announcement needs. */
export type AnnouncedMove = Pick<
  IndexedEvent,
  "type" | "timestamp" | "proofHash" | "automatic" | "buyerAmount" | "outcome" | "buyerPercent"
>;

/** Webhook targets of a transaction: the listing's endpointUrl and the checkout's callbackUrl. */
export interface TransactionTargets {
  seller: DispatchTarget[];
  buyer: DispatchTarget[];
}

/** The addresses of a transaction's parties. `endpointUrl` is the listing's current one. */
export function toTargets(record: TransactionRecord, endpointUrl: string | null): TransactionTargets {
  return {
    seller:
      endpointUrl === null || record.sellerAgentId === null
        ? []
        : [{ agentId: record.sellerAgentId, url: endpointUrl }],
    buyer:
      record.callbackUrl === null || record.buyerAgentId === null
        ? []
        : [{ agentId: record.buyerAgentId, url: record.callbackUrl }],
  };
}

/** The agents of a transaction; null for a wallet that isn't registered. */
function partiesOf({ buyerAgentId, sellerAgentId }: TransactionRecord): (string | null)[] {
  return [buyerAgentId, sellerAgentId];
}

/** The announcement of `service.delivered`, once the delivery is on chain and its payload is stored. */
export function announceDelivered(
  record: TransactionRecord,
  delivery: { timestamp: number; incarnation: number },
  targets: TransactionTargets,
  occurredAt: Date,
): Announcement {
  return {
    type: "service.delivered",
    record,
    body: payloads.serviceDelivered(record, delivery.timestamp),
    incarnation: delivery.incarnation,
    recipients: [record.buyerAgentId],
    parties: partiesOf(record),
    targets: targets.buyer,
    occurredAt,
  };
}

/**
 * The announcement of `delivery.overdue`.
 * @param incarnation the delivery's, so that a delivery repeated after a reorganisation can be announced again
 * @param occurredAt when the overdue delivery was found
 */
export function announceOverdue(record: TransactionRecord, incarnation: number, occurredAt: Date): Announcement {
  return {
    type: "delivery.overdue",
    record,
    body: payloads.deliveryOverdue(record),
    incarnation,
    recipients: [record.buyerAgentId],
    parties: partiesOf(record),
    targets: toTargets(record, null).buyer,
    occurredAt,
  };
}

/** The announcements of a move on chain, with their recipients. */
export function announceMove(
  record: TransactionRecord,
  event: AnnouncedMove,
  incarnation: number,
  targets: TransactionTargets,
): Announcement[] {
  const occurredAt = new Date(event.timestamp * 1000);
  const facts = { record, incarnation, occurredAt, parties: partiesOf(record) };
  const toSeller = { ...facts, recipients: [record.sellerAgentId], targets: targets.seller };
  const toBuyer = { ...facts, recipients: [record.buyerAgentId], targets: targets.buyer };
  const toBoth = {
    ...facts,
    recipients: partiesOf(record),
    targets: [...targets.buyer, ...targets.seller],
  };
  switch (event.type) {
    case "EscrowCreated":
      return [{ ...toSeller, type: "escrow.funded", body: payloads.escrowFunded(record) }];
    case "DeliverySubmitted":
      if (record.responsePayloadJson !== null) {
        return [announceDelivered(record, { timestamp: event.timestamp, incarnation }, targets, occurredAt)];
      }
      return [
        {
          ...toBuyer,
          type: "delivery.submitted",
          body: payloads.deliverySubmitted(record, event.timestamp, event.proofHash),
        },
      ];
    case "EscrowReleased": {
      const automatic = event.automatic === true;
      return [
        {
          ...toSeller,
          type: automatic ? "escrow.finalized" : "escrow.released",
          body: payloads.escrowReleased(record, automatic),
        },
      ];
    }
    case "EscrowRefunded":
      return [
        {
          ...toBuyer,
          targets: [],
          type: "escrow.refunded",
          body: payloads.escrowReturned(record, "escrow.refunded", event.buyerAmount),
        },
      ];
    case "EscrowAbandoned":
      return [
        {
          ...toSeller,
          targets: [],
          type: "escrow.abandoned",
          body: payloads.escrowReturned(record, "escrow.abandoned", event.buyerAmount),
        },
      ];
    case "DisputeOpened":
      return [{ ...toBoth, type: "dispute.created", body: payloads.disputeCreated(record) }];
    case "EscrowResolved":
      return [{ ...toBoth, type: "dispute.resolved", body: payloads.disputeResolved(record, event) }];
  }
}

/** Tells both parties that a reorganisation has removed a move that they were told of. */
export function announceWithdrawal(
  record: TransactionRecord,
  withdrawn: { type: string; incarnation: number; eventIds: string[] },
  targets: TransactionTargets,
  occurredAt: Date,
): Announcement {
  return {
    type: "escrow.reorged",
    record,
    body: payloads.escrowReorged(record, withdrawn.type, withdrawn.eventIds),
    incarnation: withdrawn.incarnation,
    qualifier: withdrawn.type,
    recipients: partiesOf(record),
    parties: partiesOf(record),
    targets: [...targets.seller, ...targets.buyer],
    withdrawn: withdrawn.eventIds,
    occurredAt,
  };
}
