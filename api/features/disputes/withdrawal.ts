import type { Connection } from "mongoose";

import { withTransaction } from "../../db/connection.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import type { TransactionReader } from "../transactions/reader.ts";
import { hasDispute } from "./load-case.ts";
import type { DisputeModel, DisputeRecord } from "./model.ts";

/** Dependencies of withdrawing disputes. */
export interface WithdrawalOptions {
  connection: Connection;
  disputes: DisputeModel;
  transactions: TransactionModel;
  /** Reads the subgraph's state of a transaction. */
  reader: Pick<TransactionReader, "current">;
  now: () => Date;
}

/**
 * Closes disputes that a reorganisation removed before the follower had seen them. A reading of the subgraph may open a
 * dispute first (`DisputeStore.open`), and the follower only withdraws what it has applied.
 */
export function createWithdrawal({ connection, disputes, transactions, reader, now }: WithdrawalOptions) {
  /**
   * Closes a dispute that neither the subgraph nor the copy of its transaction has; false if one of them has it. If the
   * dispute is mined again, the follower opens it again.
   */
  return async function withdrawIfGone(
    dispute: DisputeRecord,
    record: TransactionRecord,
    signal: AbortSignal,
  ): Promise<boolean> {
    const reading = await reader.current({ record, role: "buyer" }, { signal });
    if (hasDispute(reading.record, dispute)) return false;
    return withTransaction(connection, async (session) => {
      // A follower that applies the dispute meanwhile writes the same record, so one of the two transactions is retried.
      const copy = await transactions.findById(record._id, null, { session }).lean();
      if (copy !== null && hasDispute(copy, dispute)) return false;
      const { matchedCount } = await disputes.updateOne(
        { _id: dispute._id, disputedAt: dispute.disputedAt, ruling: null },
        { $set: { disputedAt: null, isOpen: false, dueAt: null, closedAt: null, updatedAt: now() } },
        { session },
      );
      return matchedCount === 1;
    });
  };
}

/** Closes a dispute that a reorganisation has removed. */
export type WithdrawIfGone = ReturnType<typeof createWithdrawal>;
