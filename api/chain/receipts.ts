import { erc20Abi, getAddress, parseEventLogs } from "viem";
import type { Address, Hash, Hex, TransactionReceipt } from "viem";

import { escrowAbi } from "./abis.ts";
import type { EscrowTerms } from "./calldata.ts";
import type { ChainClient } from "./chain-client.ts";

/** A term in which the escrow on chain differs from its checkout. */
export interface TermDifference {
  term: "buyer" | "seller" | "token" | "amount" | "deadline" | "disputeWindow" | "abandonmentGrace" | "criteriaHash";
  expected: string;
  actual: string;
}

/** Tokens that a transaction sent to the escrow contract for no escrow. */
export interface PlainTransfer {
  /** The token's contract. */
  token: Address;
  from: Address;
  /** In the token's units. */
  amount: bigint;
}

/** The result of checking a transaction hash as the funding of one escrow. */
export type FundingCheck =
  /** It created the escrow with exactly these terms. */
  | { kind: "funded"; blockNumber: number }
  /** No node of this network has seen the hash. */
  | { kind: "unknown" }
  /** It isn't in a block yet. */
  | { kind: "pending" }
  /** It reverted. */
  | { kind: "failed"; blockNumber: number }
  /** It succeeded and created no escrow in our contract. */
  | { kind: "noEscrow" }
  /** It sent tokens to our contract without creating an escrow. The contract has no way to give them back. */
  | { kind: "transfer"; transfers: PlainTransfer[] }
  /** It created other escrows. */
  | { kind: "otherEscrow"; escrowIds: Hex[] }
  /** It used the escrow id with other terms. */
  | { kind: "otherTerms"; differences: TermDifference[] };

/** The terms of a checkout and the wallet that must fund it. */
export interface FundingTerms extends EscrowTerms {
  buyer: Address;
}

/** The values of an escrow that its checkout determines, as read from the chain or the subgraph. */
export type CreatedTerms = Record<TermDifference["term"], string | bigint>;

/** Compares every term of a checkout with the created escrow; an empty array means that they match. */
export function compareTerms(expected: FundingTerms, actual: CreatedTerms): TermDifference[] {
  const wanted: CreatedTerms = {
    buyer: expected.buyer,
    seller: expected.seller,
    token: expected.token,
    amount: expected.amount,
    deadline: BigInt(expected.deadline),
    disputeWindow: BigInt(expected.disputeWindow),
    abandonmentGrace: BigInt(expected.abandonmentGrace),
    criteriaHash: expected.criteriaHash,
  };
  return (Object.keys(wanted) as TermDifference["term"][])
    .map((term) => ({ term, expected: String(wanted[term]), actual: String(actual[term]) }))
    .filter((pair) => pair.expected.toLowerCase() !== pair.actual.toLowerCase());
}

function escrowLogs(receipt: TransactionReceipt, escrowContract: Address) {
  return receipt.logs.filter((log) => log.address.toLowerCase() === escrowContract.toLowerCase());
}

/** The tokens of any contract that a receipt moved to the escrow contract. */
function transfersTo(receipt: TransactionReceipt, escrowContract: Address): PlainTransfer[] {
  return parseEventLogs({ abi: erc20Abi, eventName: "Transfer", logs: receipt.logs })
    .filter(({ args }) => args.to.toLowerCase() === escrowContract.toLowerCase() && args.value > 0n)
    .map(({ address, args }) => ({ token: getAddress(address), from: args.from, amount: args.value }));
}

/**
 * Checks from a receipt's logs whether it funded the escrow of a checkout. The sender doesn't matter: a relayed
 * `createEscrowWithAuthorization` counts like `createEscrow`.
 */
export async function checkFunding(chain: ChainClient, txHash: Hash, terms: FundingTerms): Promise<FundingCheck> {
  const lookup = await chain.lookupReceipt(txHash);
  if (lookup.status !== "mined") return { kind: lookup.status };
  const { receipt } = lookup;
  if (receipt.status !== "success") return { kind: "failed", blockNumber: Number(receipt.blockNumber) };

  const created = parseEventLogs({
    abi: escrowAbi,
    eventName: "EscrowCreated",
    logs: escrowLogs(receipt, chain.deployment.escrow),
  });
  const own = created.find((log) => log.args.escrowId.toLowerCase() === terms.escrowId.toLowerCase());
  if (own === undefined) {
    const transfers = created.length === 0 ? transfersTo(receipt, chain.deployment.escrow) : [];
    if (transfers.length > 0) return { kind: "transfer", transfers };
    if (created.length === 0) return { kind: "noEscrow" };
    return { kind: "otherEscrow", escrowIds: created.map((log) => log.args.escrowId) };
  }
  const differences = compareTerms(terms, own.args);
  if (differences.length > 0) return { kind: "otherTerms", differences };
  return { kind: "funded", blockNumber: Number(receipt.blockNumber) };
}

/** The result of checking a transaction hash as the delivery of one escrow. */
export type DeliveryCheck =
  | { kind: "delivered"; blockNumber: number; proofHash: Hex }
  | { kind: "unknown" }
  | { kind: "pending" }
  | { kind: "failed"; blockNumber: number }
  /** It didn't submit a delivery for this escrow. */
  | { kind: "otherEscrow" };

/** Checks from a receipt's logs whether it submitted the delivery of an escrow. */
export async function checkDelivery(chain: ChainClient, txHash: Hash, escrowId: Hex): Promise<DeliveryCheck> {
  const lookup = await chain.lookupReceipt(txHash);
  if (lookup.status !== "mined") return { kind: lookup.status };
  const { receipt } = lookup;
  if (receipt.status !== "success") return { kind: "failed", blockNumber: Number(receipt.blockNumber) };
  const submitted = parseEventLogs({
    abi: escrowAbi,
    eventName: "DeliverySubmitted",
    logs: escrowLogs(receipt, chain.deployment.escrow),
  }).find((log) => log.args.escrowId.toLowerCase() === escrowId.toLowerCase());
  if (submitted === undefined) return { kind: "otherEscrow" };
  return { kind: "delivered", blockNumber: Number(receipt.blockNumber), proofHash: submitted.args.proofHash };
}
