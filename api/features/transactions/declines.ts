import type { PipelineStage } from "mongoose";
import { getAddress } from "viem";

import { MIN_DECLINED_BUYERS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { CHECKOUT_OUTCOMES_INDEX } from "./model.ts";
import type { TransactionModel, TransactionStatus } from "./model.ts";

/** A seller's early declines of orders from checkouts. */
export interface DeclineRecord {
  /** Number of escrows from a checkout, funded in time, that the seller refunded up to their deadline. */
  earlyDeclines: number;
  /** Their share of all such escrows that have ended; 0 if they are from fewer than three buyers. */
  earlyDeclineShare: number;
}

/** Reads decline records by lower-case wallet. A wallet without early declines is missing. */
export type DeclineRecords = (
  network: Network,
  wallets: readonly string[],
) => Promise<ReadonlyMap<string, DeclineRecord>>;

/** Statuses of an escrow that has ended. */
const ENDED: readonly TransactionStatus[] = ["released", "refunded", "resolved", "abandoned"];

/** An escrow funded after the quote's end may be refunded freely, so it doesn't count. */
const FUNDED_IN_TIME = { $lte: ["$escrow.createdAt", "$quoteExpiresAt"] };
const BEFORE_DEADLINE = { $lte: ["$escrow.settledAt", "$deadline"] };
/** Counts where the conditions hold. In `$match` they would be checked on the documents, not on the index. */
const times = (...conditions: object[]) => ({ $sum: { $cond: [{ $and: conditions }, 1, 0] } });

function endedBy(network: Network, sellers: readonly string[], statuses: readonly TransactionStatus[]) {
  return {
    network,
    sellerAddress: { $in: [...sellers] },
    status: { $in: [...statuses] },
    unsolicited: false,
    "escrow.settledAt": { $gt: 0 },
  };
}

/** The early declines of sellers, and the number of their buyers. */
export function declinedPipeline(network: Network, sellers: readonly string[]): PipelineStage[] {
  return [
    { $match: endedBy(network, sellers, ["refunded"]) },
    {
      $group: {
        _id: { seller: "$sellerAddress", buyer: "$buyerAddress" },
        declines: times(FUNDED_IN_TIME, BEFORE_DEADLINE),
      },
    },
    { $match: { declines: { $gt: 0 } } },
    { $group: { _id: "$_id.seller", earlyDeclines: { $sum: "$declines" }, buyers: { $sum: 1 } } },
  ];
}

/** The number of sellers' escrows from a checkout that were funded in time and have ended. */
export function endedPipeline(network: Network, sellers: readonly string[]): PipelineStage[] {
  return [
    { $match: endedBy(network, sellers, ENDED) },
    { $group: { _id: "$sellerAddress", ended: times(FUNDED_IN_TIME) } },
  ];
}

/**
 * Counts declines up to the deadline. Only this service's records, not the subgraph, know which escrows came from a
 * checkout and when the quote ended. Both queries read only an index. The first reads the refunds of all given wallets, the
 * second the ended escrows of those with enough declined buyers.
 */
export function createDeclineRecords(transactions: TransactionModel): DeclineRecords {
  const read = <T>(pipeline: PipelineStage[]) => transactions.aggregate<T>(pipeline).hint(CHECKOUT_OUTCOMES_INDEX);

  return async (network, wallets) => {
    const sellers = [...new Set(wallets.map((wallet) => getAddress(wallet)))];
    if (sellers.length === 0) return new Map();
    const declined = await read<{ _id: string; earlyDeclines: number; buyers: number }>(
      declinedPipeline(network, sellers),
    );
    const counted = declined.filter(({ buyers }) => buyers >= MIN_DECLINED_BUYERS).map(({ _id }) => _id);
    const ended =
      counted.length === 0 ? [] : await read<{ _id: string; ended: number }>(endedPipeline(network, counted));
    const endedOf = new Map(ended.map((each) => [each._id, each.ended]));
    return new Map(
      declined.map(({ _id, earlyDeclines }) => {
        const of = endedOf.get(_id);
        // A reorganisation may have removed one between the two queries.
        const earlyDeclineShare = of === undefined ? 0 : Math.min(1, earlyDeclines / Math.max(1, of));
        return [_id.toLowerCase(), { earlyDeclines, earlyDeclineShare }];
      }),
    );
  };
}
