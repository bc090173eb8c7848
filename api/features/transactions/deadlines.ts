import type { TransactionRecord } from "./model.ts";

// The contract compares with the time of the block that holds the call: a move is open while now <= its end, and the
// counter-move from the next second on (decisions 6 and 7). All times are unix seconds.

/** Last second in which the buyer may accept or dispute; null before the delivery. */
export function windowEnd(record: TransactionRecord): number | null {
  const deliveredAt = record.escrow?.deliveredAt ?? null;
  return deliveredAt === null ? null : deliveredAt + record.disputeWindow;
}

/** First second in which anyone may finalize; null before the delivery. */
export function finalizableAt(record: TransactionRecord): number | null {
  const end = windowEnd(record);
  return end === null ? null : end + 1;
}

/** Last second in which the seller may decline. */
export function graceEnd(record: TransactionRecord): number {
  return record.deadline + record.abandonmentGrace;
}

/** First second in which the buyer may reclaim an undelivered job. */
export function claimableAt(record: TransactionRecord): number {
  return graceEnd(record) + 1;
}
