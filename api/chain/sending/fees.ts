import type { MarketFees } from "../sending-chain.ts";

/** The fees that a transaction offers, in wei per unit of gas. */
export interface Offer {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** A quarter above the estimate, and another quarter for each revert: the state may change before the block. */
const GAS_QUARTERS = 4n;

/**
 * The gas limit of a transaction.
 * @param reverts how often the transaction has reverted in a block so far
 */
export function gasLimit(estimate: bigint, reverts = 0): bigint {
  return estimate + (estimate * BigInt(1 + reverts)) / GAS_QUARTERS;
}

/** Covers six full blocks in a row: a full block raises the base fee by an eighth. */
const BASE_FEE_ROOM = 2n;

/** The offer of a new transaction at the market's fees. */
export function firstOffer({ baseFee, priorityFee }: MarketFees): Offer {
  return { maxFeePerGas: BASE_FEE_ROOM * baseFee + priorityFee, maxPriorityFeePerGas: priorityFee };
}

/** The most that a transaction may offer: a multiple of what the market asks. */
function highestFee({ baseFee, priorityFee }: MarketFees, multiple: number): bigint {
  return BigInt(multiple) * (baseFee + priorityFee);
}

/** 12.5% more, rounded up. Nodes ask for 10% before they replace a transaction, some for 12.5%. */
const raised = (fee: bigint): bigint => (fee * 9n + 7n) / 8n + (fee === 0n ? 1n : 0n);

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/**
 * The offer of a replacement transaction: both fees at least 12.5% more, or the market's if that is higher.
 * @param multiple the highest multiple of the market's fees that may be offered
 * @returns undefined if that exceeds the cap
 */
export function nextOffer(previous: Offer, market: MarketFees, multiple: number): Offer | undefined {
  const fresh = firstOffer(market);
  const maxPriorityFeePerGas = larger(raised(previous.maxPriorityFeePerGas), fresh.maxPriorityFeePerGas);
  const offer = {
    maxFeePerGas: larger(larger(raised(previous.maxFeePerGas), fresh.maxFeePerGas), maxPriorityFeePerGas),
    maxPriorityFeePerGas,
  };
  // The tip is part of that.
  return offer.maxFeePerGas > highestFee(market, multiple) ? undefined : offer;
}
