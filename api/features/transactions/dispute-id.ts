import type { TransactionRecord } from "./model.ts";

const TRANSACTION_PREFIX = "txn_";
const DISPUTE_PREFIX = "dsp_";

/**
 * The id of the dispute about a transaction's escrow, which can have only one. It derives from the transaction's id. So a
 * dispute can be read by its id as soon as it is on chain, and keeps its id after a reorganisation.
 * @example "dsp_019aa5c0b3f1d2c4a9e07b5f6d812233" for "txn_019aa5c0b3f1d2c4a9e07b5f6d812233"
 */
export function disputeIdOf({ _id }: Pick<TransactionRecord, "_id">): string {
  return DISPUTE_PREFIX + _id.slice(TRANSACTION_PREFIX.length);
}

/** The id of a dispute's transaction; undefined if the argument isn't the id of a dispute. */
export function transactionIdOf(disputeId: string): string | undefined {
  return disputeId.startsWith(DISPUTE_PREFIX) ? TRANSACTION_PREFIX + disputeId.slice(DISPUTE_PREFIX.length) : undefined;
}
