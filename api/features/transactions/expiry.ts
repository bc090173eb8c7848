import type { Network } from "../../config/constants.ts";
import type { TransactionModel } from "./model.ts";

/** Seconds after its quote's end, by the indexed chain's time, before an unfunded checkout expires. */
export const EXPIRY_MARGIN_SECONDS = 120;

/**
 * Expires a network's checkouts whose quote has ended without an escrow on chain. If the escrow is funded later anyway,
 * its transaction becomes `funded` with `late: true`.
 * @param headTimestamp unix seconds of the block up to which every event has been applied
 * @returns the number of expired checkouts
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
