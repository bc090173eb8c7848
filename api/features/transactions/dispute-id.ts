import type { TransactionRecord } from "./model.ts";

const TRANSACTION_PREFIX = "txn_";
const DISPUTE_PREFIX = "dsp_";

/**
 * The id of the dispute about a transaction's escrow, which can have only one. It names the transaction, so that a
 * dispute can be read by its id as soon as it is on chain, and a reorganisation that opens it again keeps it.
 * @example "dsp_019aa5c0b3f1d2c4a9e07b5f6d812233" for "txn_019aa5c0b3f1d2c4a9e07b5f6d812233"
 */
export function disputeIdOf({ _id }: Pick<TransactionRecord, "_id">): string {
  return DISPUTE_PREFIX + _id.slice(TRANSACTION_PREFIX.length);
}

/** The transaction that a dispute is about; undefined if it isn't the id of a dispute. */
export function transactionIdOf(disputeId: string): string | undefined {
  return disputeId.startsWith(DISPUTE_PREFIX) ? TRANSACTION_PREFIX + disputeId.slice(DISPUTE_PREFIX.length) : undefined;
}
