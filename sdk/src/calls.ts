import { decodeErrorResult, decodeFunctionResult, encodeFunctionData, erc20Abi, keccak256, stringToHex } from "viem";
import type { Address, ContractFunctionReturnType, Hex } from "viem";

import { canonicalJson } from "./canonical-json.ts";
import { escrowAbi, resolverAbi } from "./generated/abis.ts";
import type { EscrowTerms } from "./terms.ts";

// Calls of the escrow and the resolver contract as bytes, for wallets that send them themselves. Web pages load this file alone.

/** States of an escrow. The position in the list is the code on chain. */
export const ESCROW_STATES = [
  "None",
  "Funded",
  "Delivered",
  "Released",
  "Refunded",
  "Disputed",
  "Resolved",
  "Abandoned",
] as const;
/** State of an escrow on chain. */
export type EscrowState = (typeof ESCROW_STATES)[number];

/** An escrow as stored in the contract. Amounts are in token units, times in unix seconds, durations in seconds. */
export interface Escrow {
  state: EscrowState;
  buyer: Address;
  seller: Address;
  token: Address;
  /** Gross deposit. */
  amount: bigint;
  /** 2% of the deposit, rounded up; never refunded. */
  fee: bigint;
  /** The seller's amount on release, or the buyer's on a refund. */
  locked: bigint;
  createdAt: bigint;
  deadline: bigint;
  /** 0 before the delivery. */
  deliveredAt: bigint;
  /** 0 without a dispute. */
  disputedAt: bigint;
  disputeWindow: bigint;
  abandonmentGrace: bigint;
  criteriaHash: Hex;
}

/** Moves that take only the escrow id. */
export type EscrowMove = "accept" | "finalize" | "refund" | "claimAbandoned" | "openDispute" | "resolveExpired";

/** Calldata of a move. */
export function encodeMove(move: EscrowMove, escrowId: Hex): Hex {
  return encodeFunctionData({ abi: escrowAbi, functionName: move, args: [escrowId] });
}

/** Calldata that deposits the token as the buyer, which is the sender. The contract needs an allowance for it. */
export function encodeCreateEscrow(terms: Omit<EscrowTerms, "buyer">): Hex {
  const { escrowId, seller, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash } = terms;
  const args = [escrowId, seller, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash] as const;
  return encodeFunctionData({ abi: escrowAbi, functionName: "createEscrow", args });
}

/** Calldata, for a token, that lets a contract transfer so many of its units from the sender. */
export function encodeApprove(spender: Address, amount: bigint): Hex {
  return encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [spender, amount] });
}

/** Calldata, for a token, that reads how many of its units a contract may transfer from a wallet. */
export function encodeAllowanceRead(owner: Address, spender: Address): Hex {
  return encodeFunctionData({ abi: erc20Abi, functionName: "allowance", args: [owner, spender] });
}

/** Calldata, for a token, that reads how many of its units a wallet holds. */
export function encodeBalanceRead(owner: Address): Hex {
  return encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [owner] });
}

/** The units in the answer to a read of an allowance or a balance. @throws viem's error if it is none, as from an address without a contract */
export function decodeUnits(data: Hex): bigint {
  return decodeFunctionResult({ abi: erc20Abi, functionName: "balanceOf", data });
}

/** Calldata that reads an escrow. */
export function encodeEscrowRead(escrowId: Hex): Hex {
  return encodeFunctionData({ abi: escrowAbi, functionName: "getEscrow", args: [escrowId] });
}

/** The escrow in the answer to such a read. @throws viem's error if the answer isn't an escrow, as from an address without a contract */
export function decodeEscrow(data: Hex): Escrow {
  return toEscrow(decodeFunctionResult({ abi: escrowAbi, functionName: "getEscrow", data }));
}

/** The escrow as the contract returns it, with its state by name. */
export function toEscrow({
  state,
  ...escrow
}: ContractFunctionReturnType<typeof escrowAbi, "view", "getEscrow">): Escrow {
  return { ...escrow, state: ESCROW_STATES[state] ?? "None" };
}

/** Calldata that reads what a failed payout left for a wallet to withdraw. */
export function encodeCreditRead(recipient: Address, token: Address): Hex {
  return encodeFunctionData({ abi: escrowAbi, functionName: "creditOf", args: [recipient, token] });
}

/** The token units in the answer to such a read. @throws viem's error if it is none, as from an address without a contract */
export function decodeCredit(data: Hex): bigint {
  return decodeFunctionResult({ abi: escrowAbi, functionName: "creditOf", data });
}

/** Calldata that withdraws the sender's whole credit in a token to itself. */
export function encodeWithdraw(token: Address): Hex {
  return encodeFunctionData({ abi: escrowAbi, functionName: "withdraw", args: [token] });
}

/** Calldata that reads which contract divides disputed escrows. */
export function encodeResolverRead(): Hex {
  return encodeFunctionData({ abi: escrowAbi, functionName: "resolverContract" });
}

/** The address in the answer to such a read. @throws viem's error if it is none, as from an address without a contract */
export function decodeResolver(data: Hex): Address {
  return decodeFunctionResult({ abi: escrowAbi, functionName: "resolverContract", data });
}

/** An agreement that both parties of a dispute have signed (`agreementData`). */
export interface SignedAgreement {
  /** The buyer's share, 0 to 100. */
  buyerPercent: number;
  /** Unix seconds. */
  deadline: number;
  buyerSignature: Hex;
  sellerSignature: Hex;
}

/** Calldata for the resolver contract that ends a dispute as both parties have signed. */
export function encodeAgreement(
  escrowId: Hex,
  { buyerPercent, deadline, buyerSignature, sellerSignature }: SignedAgreement,
): Hex {
  return encodeFunctionData({
    abi: resolverAbi,
    functionName: "resolveByAgreement",
    args: [escrowId, BigInt(buyerPercent), BigInt(deadline), [buyerSignature, sellerSignature]],
  });
}

const ALL_ERRORS = [...escrowAbi, ...resolverAbi].filter((entry) => entry.type === "error");

/** The name of the contracts' error in what a call reverted with; undefined for data of another kind. */
export function revertNameOf(data: Hex): string | undefined {
  try {
    return decodeErrorResult({ abi: ALL_ERRORS, data }).errorName;
  } catch {
    return undefined;
  }
}

/** The hash of agreed criteria, which the escrow has as its `criteriaHash`. @throws TypeError for what isn't JSON */
export function criteriaHashOf(criteria: Record<string, unknown>): Hex {
  return hashOf(criteria);
}

/** The hash of a ruling's document, which the resolver contract has as `rationaleHash`. @throws TypeError for what isn't JSON */
export function rulingHashOf(document: Record<string, unknown>): Hex {
  return hashOf(document);
}

function hashOf(document: Record<string, unknown>): Hex {
  return keccak256(stringToHex(canonicalJson(document)));
}
