import { encodeFunctionData, erc20Abi } from "viem";
import type { Address, Hex } from "viem";

import { escrowAbi, resolverAbi } from "./abis.ts";

/** A call that a wallet can send as is. `value` is in wei as a decimal string, always "0" here. */
export interface ContractCall {
  to: Address;
  data: Hex;
  value: "0";
  chainId: number;
  /** A plain description of the call. */
  description: string;
}

/** The contract and chain that a call is for. */
export interface CallTarget {
  chainId: number;
  escrowContract: Address;
}

/** The terms that `createEscrow` takes. Amounts are in token units, times in unix seconds, durations in seconds. */
export interface EscrowTerms {
  escrowId: Hex;
  seller: Address;
  amount: bigint;
  token: Address;
  deadline: number;
  disputeWindow: number;
  abandonmentGrace: number;
  criteriaHash: Hex;
}

const escrowCall = (target: CallTarget, data: Hex, description: string): ContractCall => ({
  to: target.escrowContract,
  data,
  value: "0",
  chainId: target.chainId,
  description,
});

/** Approves exactly the deposit; the buyer's first step. */
export function approveCall(target: CallTarget, token: Address, amount: bigint): ContractCall {
  return {
    to: token,
    data: encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [target.escrowContract, amount] }),
    value: "0",
    chainId: target.chainId,
    description: "Allow the escrow contract to transfer the deposit",
  };
}

/** Deposits the token; the buyer's second step. */
export function createEscrowCall(target: CallTarget, terms: EscrowTerms): ContractCall {
  const data = encodeFunctionData({
    abi: escrowAbi,
    functionName: "createEscrow",
    args: [
      terms.escrowId,
      terms.seller,
      terms.amount,
      terms.token,
      BigInt(terms.deadline),
      BigInt(terms.disputeWindow),
      BigInt(terms.abandonmentGrace),
      terms.criteriaHash,
    ],
  });
  return escrowCall(target, data, "Deposit the token in escrow for the seller");
}

const SUBMIT_DELIVERY = "Commit to the delivery; the dispute window starts";

/** Commits the seller to a delivery. */
export function submitDeliveryCall(target: CallTarget, escrowId: Hex, proofHash: Hex): ContractCall {
  const data = encodeFunctionData({ abi: escrowAbi, functionName: "submitDelivery", args: [escrowId, proofHash] });
  return escrowCall(target, data, SUBMIT_DELIVERY);
}

/** The moves that take only the escrow id, each with its description. */
const MOVES = {
  accept: "Accept the delivery and pay the seller",
  finalize: "Release the funds to the seller after the dispute window",
  claimAbandoned: "Reclaim the deposit, without the fee, of a job that was never delivered",
  refund: "Decline the job and refund the buyer",
  openDispute: "Dispute the delivery; the funds are frozen until a ruling",
  resolveExpired: "End a dispute without a ruling: each party gets half",
} as const;

/** Name of a move that takes only the escrow id. */
export type EscrowMove = keyof typeof MOVES;

/** Name of a move after the funding. */
export type PartyMove = EscrowMove | "submitDelivery";

/** A plain description of a move, the same as that of its call. */
export function describeMove(move: PartyMove): string {
  return move === "submitDelivery" ? SUBMIT_DELIVERY : MOVES[move];
}

/** Calldata of a move that takes only the escrow id. */
export function moveCall(target: CallTarget, move: EscrowMove, escrowId: Hex): ContractCall {
  const data = encodeFunctionData({ abi: escrowAbi, functionName: move, args: [escrowId] });
  return escrowCall(target, data, MOVES[move]);
}

/** A division of a disputed escrow that both parties have signed. */
export interface SignedAgreement {
  escrowId: Hex;
  /** The buyer's share, 0 to 100. The seller gets the rest. */
  buyerPercent: number;
  /** Last second at which the chain accepts it, in unix seconds. */
  deadline: number;
  buyerSignature: Hex;
  sellerSignature: Hex;
}

/** Ends a dispute as its parties agreed; anyone may send it. */
export function resolveByAgreementCall(
  { chainId, resolverContract }: { chainId: number; resolverContract: Address },
  { escrowId, buyerPercent, deadline, buyerSignature, sellerSignature }: SignedAgreement,
): ContractCall {
  return {
    to: resolverContract,
    data: encodeFunctionData({
      abi: resolverAbi,
      functionName: "resolveByAgreement",
      args: [escrowId, BigInt(buyerPercent), BigInt(deadline), [buyerSignature, sellerSignature]],
    }),
    value: "0",
    chainId,
    description: "Pay both parties what they agreed on",
  };
}
