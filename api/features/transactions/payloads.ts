import type { EventBody } from "../events/recorder.ts";
import type { DisputeOutcome } from "../../indexer/schemas.ts";
import { disputeIdOf } from "./dispute-id.ts";
import type { TransactionRecord } from "./model.ts";
import { isLate } from "./snapshot.ts";

const ALL_PERCENT = 100;

const parsed = (json: string | null): unknown => (json === null ? null : (JSON.parse(json) as unknown));
const iso = (unixSeconds: number): string => new Date(unixSeconds * 1000).toISOString();

/**
 * `escrow.funded`: the deposit is on chain and the seller may start. For deliveryType `webhook`, the event is the job.
 */
export function escrowFunded(record: TransactionRecord): EventBody {
  const late = isLate(record);
  return {
    event: "escrow.funded",
    transactionId: record._id,
    escrowId: record.escrowId,
    serviceId: record.serviceId,
    serviceTitle: record.serviceTitle,
    lockedAmount: record.lockedAmount,
    platformFee: record.platformFee,
    currency: record.token.symbol,
    token: record.token.address,
    buyer: record.buyerAddress,
    seller: record.sellerAddress,
    network: record.network,
    requestPayload: parsed(record.requestPayloadJson),
    quantity: record.quantity,
    deadline: record.deadline,
    deadlineAt: iso(record.deadline),
    criteriaHash: record.criteriaHash,
    unsolicited: record.unsolicited,
    late,
    ...(late ? { notice: "Funded after the quote expired: you may decline with refund(escrowId)." } : {}),
  };
}

/** `service.delivered`: the delivery is on chain and its payload is stored. The review window has started. */
export function serviceDelivered(record: TransactionRecord, deliveredAt: number): EventBody {
  return {
    event: "service.delivered",
    transactionId: record._id,
    serviceId: record.serviceId,
    responsePayload: parsed(record.responsePayloadJson),
    deliveredAt: iso(deliveredAt),
    deliveryProof: record.deliveryProof,
    escrowId: record.escrowId,
    network: record.network,
  };
}

/** `delivery.submitted`: the delivery is on chain, but the seller hasn't submitted its payload. */
export function deliverySubmitted(record: TransactionRecord, deliveredAt: number, proofHash: string | null): EventBody {
  return {
    event: "delivery.submitted",
    transactionId: record._id,
    serviceId: record.serviceId,
    deliveredAt: iso(deliveredAt),
    proofHash,
    escrowId: record.escrowId,
    network: record.network,
  };
}

/**
 * `delivery.overdue`: the time for the payload of a delivery has passed. The service doesn't finalize the escrow. Anyone
 * else may, so a buyer that wants the deposit back must dispute in time.
 */
export function deliveryOverdue(record: TransactionRecord): EventBody {
  const { deliveredAt = null, windowEnd = null, proofHash = null } = record.escrow ?? {};
  return {
    event: "delivery.overdue",
    transactionId: record._id,
    serviceId: record.serviceId,
    deliveredAt: deliveredAt === null ? null : iso(deliveredAt),
    disputableUntil: windowEnd === null ? null : iso(windowEnd),
    payload: record.payloadReceivedAt === null ? "missing" : "late",
    proofHash,
    escrowId: record.escrowId,
    network: record.network,
    notice: "The seller handed over no payload in time. You may open a dispute until the window ends.",
  };
}

/** `escrow.released` (the buyer accepted) and `escrow.finalized` (the dispute window elapsed). */
export function escrowReleased(record: TransactionRecord, automatic: boolean): EventBody {
  return {
    event: automatic ? "escrow.finalized" : "escrow.released",
    transactionId: record._id,
    serviceId: record.serviceId,
    serviceTitle: record.serviceTitle,
    buyerAgentId: record.buyerAgentId,
    escrowId: record.escrowId,
    network: record.network,
  };
}

/** `escrow.refunded` (the seller declined) and `escrow.abandoned` (the buyer reclaimed an undelivered job). */
export function escrowReturned(
  record: TransactionRecord,
  event: "escrow.refunded" | "escrow.abandoned",
  buyerAmount: bigint | null,
): EventBody {
  return {
    event,
    transactionId: record._id,
    serviceId: record.serviceId,
    serviceTitle: record.serviceTitle,
    escrowId: record.escrowId,
    network: record.network,
    buyerAmount: buyerAmount?.toString() ?? null,
  };
}

/** `dispute.created`: the buyer has opened a dispute and the funds are frozen. The chain carries no reason. */
export function disputeCreated(record: TransactionRecord): EventBody {
  return {
    event: "dispute.created",
    transactionId: record._id,
    disputeId: disputeIdOf(record),
    escrowId: record.escrowId,
    serviceId: record.serviceId,
    network: record.network,
    reason: null,
  };
}

/** `dispute.resolved`: the funds have been paid out by the outcome, `buyerPercent` of them to the buyer. */
export function disputeResolved(
  record: TransactionRecord,
  { outcome, buyerPercent }: { outcome: DisputeOutcome | null; buyerPercent: number | null },
): EventBody {
  return {
    event: "dispute.resolved",
    transactionId: record._id,
    disputeId: disputeIdOf(record),
    escrowId: record.escrowId,
    serviceId: record.serviceId,
    network: record.network,
    outcome,
    buyerPercent,
    sellerPercent: buyerPercent === null ? null : ALL_PERCENT - buyerPercent,
  };
}

/** `escrow.reorged`: an announced move of an escrow is no longer on chain. */
export function escrowReorged(record: TransactionRecord, withdrawn: string, withdrawnEventIds: string[]): EventBody {
  return {
    event: "escrow.reorged",
    transactionId: record._id,
    serviceId: record.serviceId,
    escrowId: record.escrowId,
    network: record.network,
    withdrawn,
    withdrawnEventIds,
    status: record.status,
  };
}
