import { PAYLOAD_GRACE_SECONDS, RESOLUTION_TIMEOUT_SECONDS } from "../../config/constants.ts";
import type { EscrowSnapshot, TransactionRecord } from "./model.ts";

// The contract compares deadlines with the time of the block that includes the call. A move is open while now <= its
// end, and the counter-move from the next second. All times are unix seconds.

/** The terms and times of a deal that its deadlines follow from. Durations are in seconds. */
export interface DealTimes extends Pick<TransactionRecord, "deadline" | "abandonmentGrace" | "disputeWindow"> {
  escrow: Pick<EscrowSnapshot, "deliveredAt" | "disputedAt"> | null;
}

/** Last second in which the buyer may accept or dispute; null before the delivery. */
export function windowEnd(record: DealTimes): number | null {
  const deliveredAt = record.escrow?.deliveredAt ?? null;
  return deliveredAt === null ? null : deliveredAt + record.disputeWindow;
}

/** First second in which anyone may finalize; null before the delivery. */
export function finalizableAt(record: DealTimes): number | null {
  const end = windowEnd(record);
  return end === null ? null : end + 1;
}

/** Last second at which a payload counts as handed over in time. */
export function handoverEnd({ escrow }: Pick<TransactionRecord, "escrow">): number {
  return (escrow?.deliveredAt ?? 0) + PAYLOAD_GRACE_SECONDS;
}

/** Last second in which the seller may decline. */
export function graceEnd(record: DealTimes): number {
  return record.deadline + record.abandonmentGrace;
}

/** First second in which the buyer may reclaim an undelivered job. */
export function claimableAt(record: DealTimes): number {
  return graceEnd(record) + 1;
}

/** First second in which anyone may end a dispute without a ruling; null without a dispute. */
export function resolvableAt(record: DealTimes): number | null {
  const disputedAt = record.escrow?.disputedAt ?? null;
  return disputedAt === null ? null : disputedAt + RESOLUTION_TIMEOUT_SECONDS + 1;
}

/** Reasons why the chain doesn't accept a move now. */
export const MOVE_REASONS = [
  "not_funded",
  "expired",
  "not_delivered",
  "delivered",
  "disputed",
  "settled",
  "too_early",
] as const;
export type MoveReason = (typeof MOVE_REASONS)[number];

/** Whether and when a move can be made. */
export interface Opening {
  /** First second in which the chain accepts the move; null if the deal's state rules the move out. */
  opensAt: number | null;
  /** Null while the move is open. */
  reason: MoveReason | null;
}

const REASON_OF: Readonly<Record<TransactionRecord["status"], MoveReason>> = {
  pending_funding: "not_funded",
  expired: "expired",
  funded: "not_delivered",
  delivered: "delivered",
  disputed: "disputed",
  released: "settled",
  refunded: "settled",
  resolved: "settled",
  abandoned: "settled",
};

function opening(isInState: boolean, opensAt: number | null, record: TransactionRecord, now: number): Opening {
  if (!isInState || opensAt === null) return { opensAt: null, reason: REASON_OF[record.status] };
  return { opensAt, reason: now < opensAt ? "too_early" : null };
}

/**
 * Whether the buyer may reclaim an undelivered job.
 * @param now unix seconds
 */
export function abandonmentOpening(record: TransactionRecord, now: number): Opening {
  return opening(record.status === "funded", claimableAt(record), record, now);
}

/**
 * Whether anyone may release the funds of a delivery.
 * @param now unix seconds
 */
export function finalizationOpening(record: TransactionRecord, now: number): Opening {
  return opening(record.status === "delivered", finalizableAt(record), record, now);
}
