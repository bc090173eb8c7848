import { BigInt } from "@graphprotocol/graph-ts";

import { Escrow } from "../../generated/schema";

/** The part of a total that the settlement paid for, floor(total * sellerAmount / locked); 0 before the settlement. */
export function paidShareOf(total: BigInt, escrow: Escrow): BigInt {
  return total.times(escrow.sellerAmount).div(escrow.locked);
}

/** Settled volume of an escrow in USD with 6 decimals, floor(valueUsd * paid share); 0 before the settlement. */
export function settledUsdOf(escrow: Escrow): BigInt {
  return paidShareOf(escrow.valueUsd, escrow);
}

/** The fee of an escrow in USD with 6 decimals, floor(valueUsd * fee / amount). */
export function feeUsdOf(escrow: Escrow): BigInt {
  return escrow.valueUsd.times(escrow.fee).div(escrow.amount);
}

/** The fee of the part that was paid in USD with 6 decimals, floor(valueUsd * fee / amount * paid share), rounded once. */
export function paidFeeUsdOf(escrow: Escrow): BigInt {
  const paidFee = escrow.valueUsd.times(escrow.fee).times(escrow.sellerAmount);
  return paidFee.div(escrow.amount.times(escrow.locked));
}
