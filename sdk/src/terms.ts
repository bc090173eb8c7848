import type { Address, Hex } from "viem";

/** The terms of an escrow. */
export interface EscrowTerms {
  escrowId: Hex;
  buyer: Address;
  seller: Address;
  /** Gross deposit in token units, including the 2% fee. */
  amount: bigint;
  token: Address;
  /** Last moment at which the seller may deliver, in unix seconds. */
  deadline: bigint;
  /** Seconds after the delivery during which the buyer may accept or dispute. */
  disputeWindow: bigint;
  /** Seconds after the deadline before the buyer may reclaim. */
  abandonmentGrace: bigint;
  criteriaHash: Hex;
}

/** A buyer's signature that lets anyone create exactly one escrow on exactly these terms. */
export interface FundingAuthorization {
  chainId: number;
  escrowContract: Address;
  terms: EscrowTerms;
  /** Unix seconds after which the token accepts the signature. */
  validAfter: bigint;
  /** Unix seconds before which the token accepts it. */
  validBefore: bigint;
  signature: Hex;
}
