import BigNumber from "bignumber.js";

import { CURRENCY_DECIMALS } from "../../config/constants.ts";
import type { Currency } from "../../config/constants.ts";

/** Minimum price of a unit, in units of its currency: one unit of a token with 18 decimals. */
export const MIN_PRICE = 1e-18;
/** Maximum price of a unit, in units of its currency. */
export const MAX_PRICE = 1_000_000_000;

/** How many significant digits a JSON number keeps exactly. With more, it may differ from what the client wrote. */
const MAX_SIGNIFICANT_DIGITS = 15;

/**
 * What is wrong with a price in a currency; undefined if it is valid. A price can't have more decimal places than the
 * token that it settles in, so checkout loses no part of it.
 */
export function priceFault(price: BigNumber, currency: Currency): string | undefined {
  const decimals = CURRENCY_DECIMALS[currency];
  if ((price.decimalPlaces() ?? 0) > decimals) return `Must have at most ${decimals} decimal places in ${currency}`;
  if (price.precision(false) > MAX_SIGNIFICANT_DIGITS) {
    return `Must have at most ${MAX_SIGNIFICANT_DIGITS} significant digits`;
  }
  return undefined;
}

/** A number from a request as an exact decimal: the shortest that parses to it, which is what the client wrote. */
export function exactDecimal(price: number): BigNumber {
  return new BigNumber(String(price));
}
