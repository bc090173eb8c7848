import { approveCall, createEscrowCall, moveCall, submitDeliveryCall } from "../../chain/calldata.ts";
import type { CallTarget, ContractCall } from "../../chain/calldata.ts";
import { claimableAt, finalizableAt, graceEnd, windowEnd } from "./deadlines.ts";
import type { TransactionRecord } from "./model.ts";
import { termsOf } from "./snapshot.ts";

/** A party's side of a transaction. */
export type Role = "buyer" | "seller";

/** Something a party may do next, with the call that its wallet sends. Times in unix seconds. */
export interface Action extends ContractCall {
  action:
    "approve" | "createEscrow" | "submitDelivery" | "accept" | "openDispute" | "finalize" | "claimAbandoned" | "refund";
  /** Last second in which the chain takes the call; null when it stays open. */
  availableUntil: number | null;
}

/** Where the calls of a transaction go. */
export function callTarget(record: TransactionRecord): CallTarget {
  return { chainId: record.chainId, escrowContract: record.escrowContract };
}

/** The two calls that fund a checkout. */
export function fundingCalls(record: TransactionRecord): { approve: ContractCall; createEscrow: ContractCall } {
  const target = callTarget(record);
  return {
    approve: approveCall(target, record.token.address, BigInt(record.amount)),
    createEscrow: createEscrowCall(target, termsOf(record)),
  };
}

/** The commitment to a payload that was handed over; undefined before it. */
export function submitDeliveryOf(record: TransactionRecord): ContractCall | undefined {
  if (record.deliveryProof === null) return undefined;
  return submitDeliveryCall(callTarget(record), record.escrowId, record.deliveryProof);
}

/**
 * What a party may do next, by the state of the escrow and the time of the chain (specification 3.2).
 * The commitment to a delivery is ready once the payload was handed over by the deliver operation.
 * @param now unix seconds
 */
export function nextActions(record: TransactionRecord, role: Role, now: number): Action[] {
  const target = callTarget(record);
  const move = (action: Parameters<typeof moveCall>[1], availableUntil: number | null): Action => ({
    action,
    ...moveCall(target, action, record.escrowId),
    availableUntil,
  });

  if (record.status === "pending_funding" && role === "buyer") {
    if (record.quoteExpiresAt === null || now > record.quoteExpiresAt) return [];
    const { approve, createEscrow } = fundingCalls(record);
    return [
      { action: "approve", ...approve, availableUntil: record.quoteExpiresAt },
      { action: "createEscrow", ...createEscrow, availableUntil: record.quoteExpiresAt },
    ];
  }
  if (record.status === "funded") {
    if (role === "buyer") return now >= claimableAt(record) ? [move("claimAbandoned", null)] : [];
    const submit = now <= record.deadline ? submitDeliveryOf(record) : undefined;
    return [
      ...(submit === undefined
        ? []
        : [{ action: "submitDelivery" as const, ...submit, availableUntil: record.deadline }]),
      ...(now <= graceEnd(record) ? [move("refund", graceEnd(record))] : []),
    ];
  }
  if (record.status === "delivered") {
    const end = windowEnd(record);
    const opensAt = finalizableAt(record);
    if (opensAt !== null && now >= opensAt) return [move("finalize", null)];
    return role === "buyer" ? [move("accept", end), move("openDispute", end)] : [];
  }
  return [];
}
