import { isoTime } from "../../lib/clock.ts";
import type { z } from "zod";

import type { Action, Role } from "./actions.ts";
import { disputeIdOf } from "./dispute-id.ts";
import type { ListedTransaction } from "./model.ts";
import type { transaction, transactionWithActions } from "./schemas.ts";
import { isLate } from "./snapshot.ts";

/** A time as ISO 8601, or null. */
export const isoOrNull = (unixSeconds: number | null | undefined): string | null =>
  unixSeconds === null || unixSeconds === undefined ? null : isoTime(unixSeconds);
const objectOrNull = (json: string | null): Record<string, unknown> | null =>
  json === null ? null : (JSON.parse(json) as Record<string, unknown>);

/** Whether the chain has a delivery, so that the buyer may read the payload. */
function isDeliveredOnChain(record: ListedTransaction): boolean {
  return record.escrow !== null && record.escrow.deliveredAt !== null;
}

function buildTimeline(record: ListedTransaction, showPayload: boolean): z.input<typeof transaction>["timeline"] {
  const entries: z.input<typeof transaction>["timeline"] = [];
  if (!record.unsolicited) {
    entries.push({ event: "CheckedOut", at: record.createdAt.toISOString(), txHash: null, blockNumber: null });
  }
  for (const move of record.escrow?.moves ?? []) {
    entries.push({ event: move.type, at: isoTime(move.at), txHash: move.txHash, blockNumber: move.blockNumber });
  }
  if (record.payloadReceivedAt !== null && showPayload) {
    const at = record.payloadReceivedAt.toISOString();
    entries.push({ event: "PayloadReceived", at, txHash: null, blockNumber: null });
  }
  return entries;
}

/**
 * A transaction as one of its parties sees it.
 * @param indexedBlock block at which the escrow's state was read; null if no subgraph was read
 */
export function presentTransaction(
  record: ListedTransaction,
  role: Role,
  indexedBlock: number | null,
): z.input<typeof transaction> {
  const showPayload = role === "seller" || isDeliveredOnChain(record);
  const { escrow } = record;
  const settled = escrow !== null && escrow.settledAt !== null;
  const proofMatches = record.deliveryProof !== null && record.deliveryProof === escrow?.proofHash;
  return {
    id: record._id,
    transactionId: record._id,
    serviceId: record.serviceId,
    serviceTitle: record.serviceTitle,
    buyerAgentId: record.buyerAgentId,
    sellerAgentId: record.sellerAgentId,
    buyerAddress: record.buyerAddress,
    sellerAddress: record.sellerAddress,
    network: record.network,
    chainId: record.chainId,
    escrowId: record.escrowId,
    escrowContract: record.escrowContract,
    token: record.token.address,
    currency: record.token.symbol,
    amount: record.amount,
    lockedAmount: record.lockedAmount,
    platformFee: record.platformFee,
    quantity: record.quantity,
    criteriaHash: record.criteriaHash,
    disputeWindow: record.disputeWindow,
    abandonmentGrace: record.abandonmentGrace,
    deadline: record.deadline,
    deadlineAt: isoTime(record.deadline),
    quoteExpiresAt: isoOrNull(record.quoteExpiresAt),
    status: record.status,
    expiredBy: record.expiredBy,
    requestPayload: objectOrNull(record.requestPayloadJson),
    responsePayload: showPayload ? objectOrNull(record.responsePayloadJson) : null,
    deliveryProof: showPayload ? record.deliveryProof : null,
    proofHash: escrow?.proofHash ?? null,
    proofVerified: showPayload && proofMatches ? true : null,
    // Only the buyer sees the address of its webhooks.
    callbackUrl: role === "buyer" ? record.callbackUrl : null,
    // It is the buyer's own word.
    ...(role === "buyer" && record.intentId !== undefined ? { intentId: record.intentId } : {}),
    fundTxHash: escrow?.createdTxHash ?? null,
    late: isLate(record),
    unsolicited: record.unsolicited,
    automatic: escrow?.automatic ?? null,
    disputeId: escrow === null || escrow.disputedAt === null ? null : disputeIdOf(record),
    outcome: escrow?.outcome ?? null,
    buyerAmount: settled ? escrow.buyerAmount : null,
    sellerAmount: settled ? escrow.sellerAmount : null,
    deliveredAt: isoOrNull(escrow?.deliveredAt),
    settledAt: isoOrNull(escrow?.settledAt),
    timeline: buildTimeline(record, showPayload),
    indexedBlock,
    createdAt: record.createdAt.toISOString(),
    updatedAt: record.updatedAt.toISOString(),
  };
}

/** Presents an action with its end as ISO 8601. */
export function presentAction(action: Action): z.input<typeof transactionWithActions>["actions"][number] {
  return { ...action, availableUntil: isoOrNull(action.availableUntil) };
}
