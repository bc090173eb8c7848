import type { Network } from "../../config/constants.ts";
import type { TransactionModel } from "./model.ts";

/** A checkout counts as never funded so many seconds after its quote's end, by the time of the indexed chain. */
export const EXPIRY_MARGIN_SECONDS = 120;

/**
 * Expires the checkouts of a network whose quote is over and whose escrow the chain has not seen by then. An escrow that
 * is funded later all the same brings its transaction back as `funded` with `late: true` (decision 16).
 * @param headTimestamp unix seconds of the block up to which every event has been applied
 * @returns how many expired
 */
export async function expireQuotes(
  transactions: TransactionModel,
  network: Network,
  headTimestamp: number,
  now: Date,
): Promise<number> {
  const result = await transactions.updateMany(
    { network, status: "pending_funding", quoteExpiresAt: { $lt: headTimestamp - EXPIRY_MARGIN_SECONDS } },
    { $set: { status: "expired", expiredBy: "quote", updatedAt: now } },
  );
  return result.modifiedCount;
}
