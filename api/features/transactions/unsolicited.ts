import { getAddress } from "viem";

import type { Network } from "../../config/constants.ts";
import type { IndexedEscrow } from "../../indexer/schemas.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { TransactionRecord } from "./model.ts";

const TIME_HEX_LENGTH = 12;
const HASH_HEX_LENGTH = 20;

/** A transaction for an escrow that was created on chain without a checkout. Its id is deterministic. */
export function unsolicitedRecord(
  escrow: IndexedEscrow,
  context: {
    network: Network;
    chainId: number;
    escrowContract: `0x${string}`;
    sellerAgentId: string | null;
    buyerAgentId: string | null;
    now: Date;
  },
): TransactionRecord {
  const { network, now } = context;
  // In the format of checkout ids, which sort by time.
  const time = (escrow.createdAt * 1000).toString(16).padStart(TIME_HEX_LENGTH, "0");
  const hash = sha256Hex([network, context.escrowContract.toLowerCase(), escrow.id].join("|"));
  return {
    _id: `txn_${time}${hash.slice(0, HASH_HEX_LENGTH)}`,
    unsolicited: true,
    serviceId: null,
    serviceTitle: null,
    deliveryType: null,
    category: null,
    buyerAgentId: context.buyerAgentId,
    sellerAgentId: context.sellerAgentId,
    buyerAddress: getAddress(escrow.buyer),
    sellerAddress: getAddress(escrow.seller),
    network,
    chainId: context.chainId,
    escrowId: escrow.id,
    escrowContract: context.escrowContract,
    token: { symbol: escrow.token.symbol, address: getAddress(escrow.token.id), decimals: escrow.token.decimals },
    quantity: 1,
    amount: escrow.amount.toString(),
    platformFee: escrow.fee.toString(),
    lockedAmount: escrow.locked.toString(),
    criteriaHash: escrow.criteriaHash,
    criteriaJson: null,
    disputeWindow: escrow.disputeWindow,
    abandonmentGrace: escrow.abandonmentGrace,
    deadline: escrow.deadline,
    quoteExpiresAt: null,
    callbackUrl: null,
    requestPayloadJson: null,
    responsePayloadJson: null,
    deliveryProof: null,
    payloadReceivedAt: null,
    status: "funded",
    expiredBy: null,
    escrow: null,
    minBlock: escrow.createdBlock,
    createdAt: new Date(escrow.createdAt * 1000),
    updatedAt: now,
  };
}
