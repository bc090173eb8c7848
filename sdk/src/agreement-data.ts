import type { Address, Hex } from "viem";

// What both parties of a dispute sign to end it. Web pages load this file without the client.

/** EIP-712 types of an agreement (contracts/ResolverV2.sol). */
export const AGREEMENT_TYPES = {
  ResolutionAgreement: [
    { name: "escrowId", type: "bytes32" },
    { name: "buyerPercent", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
} as const;

/** The terms of an agreement, and where they hold. */
export interface AgreementTerms {
  chainId: number;
  /** The resolver contract, as the escrow contract names it. */
  resolver: Address;
  escrowId: Hex;
  /** The buyer's share, 0 to 100. The seller gets the rest. */
  buyerPercent: number;
  /** Last second at which the chain accepts it, in unix seconds. */
  deadline: number;
}

/** The typed data (EIP-712) of an agreement. */
export function agreementData({ chainId, resolver, escrowId, buyerPercent, deadline }: AgreementTerms) {
  return {
    domain: { name: "AgentMarketplaceResolver", version: "2", chainId, verifyingContract: resolver },
    types: AGREEMENT_TYPES,
    primaryType: "ResolutionAgreement",
    message: { escrowId, buyerPercent: BigInt(buyerPercent), deadline: BigInt(deadline) },
  } as const;
}
