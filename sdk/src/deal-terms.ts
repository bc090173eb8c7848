import type { Address } from "viem";

import type * as wire from "./generated/api-types.ts";
import { parseRecord } from "./records.ts";
import type { Network } from "./records.ts";
import type { EscrowTerms } from "./terms.ts";

/** The agreed terms of a deal. Amounts are in token units. */
export interface DealTerms extends EscrowTerms {
  transactionId: string;
  network: Network;
  chainId: number;
  escrowContract: Address;
  /** Part of the deposit that is never refunded. */
  platformFee: bigint;
  /** The seller's amount on release, or the buyer's on a refund or an abandonment. */
  refundableAmount: bigint;
  /** ISO 8601; null for an escrow without a checkout. */
  quoteExpiresAt: string | null;
  /** The dispute window that the service advises for a deal of this value, in seconds; null unless just checked out. */
  recommendedDisputeWindow: number | null;
}

/** Reads the terms from the answer of a checkout. */
export function termsOfCheckout(checkout: wire.Checkout, buyer: Address): DealTerms {
  const { transactionId, paymentInstructions } = checkout;
  const terms = parseRecord(paymentInstructions);
  return {
    transactionId,
    network: terms.network,
    chainId: terms.chainId,
    escrowContract: terms.escrowContract,
    escrowId: terms.escrowId,
    buyer,
    seller: terms.sellerAddress,
    token: terms.tokenAddress,
    amount: terms.amount,
    platformFee: terms.platformFee,
    refundableAmount: terms.refundableAmount,
    deadline: BigInt(terms.deadline),
    disputeWindow: BigInt(terms.disputeWindow),
    abandonmentGrace: BigInt(terms.abandonmentGrace),
    criteriaHash: terms.criteriaHash,
    quoteExpiresAt: terms.quoteExpiresAt,
    recommendedDisputeWindow: terms.recommendedDisputeWindow,
  };
}

/** Reads the terms from an existing transaction. */
export function termsOfTransaction(record: wire.Transaction): DealTerms {
  const transaction = parseRecord(record);
  const { transactionId, network, chainId, escrowContract, escrowId, token, amount, quoteExpiresAt } = transaction;
  return {
    transactionId,
    network,
    chainId,
    escrowContract,
    escrowId,
    buyer: transaction.buyerAddress,
    seller: transaction.sellerAddress,
    token,
    amount,
    platformFee: transaction.platformFee,
    refundableAmount: transaction.lockedAmount,
    deadline: BigInt(transaction.deadline),
    disputeWindow: BigInt(transaction.disputeWindow),
    abandonmentGrace: BigInt(transaction.abandonmentGrace),
    criteriaHash: transaction.criteriaHash,
    quoteExpiresAt,
    recommendedDisputeWindow: null,
  };
}
