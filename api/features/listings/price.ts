import BigNumber from "bignumber.js";

import { CURRENCY_DECIMALS } from "../../config/constants.ts";
import type { Currency } from "../../config/constants.ts";

/** Minimum price of a unit, in units of its currency: one unit of a token with 18 decimals. */
export const MIN_PRICE = 1e-18;
/** Maximum price of a unit, in units of its currency. */
export const MAX_PRICE = 1_000_000_000;

/** Significant digits that a JSON number preserves. With more, it may differ from the client's text. */
const MAX_SIGNIFICANT_DIGITS = 15;

/**
 * Validates a price in a currency. Returns the fault, or undefined if it is valid. A price can't have more decimal places
 * than its settlement token, so checkout never rounds it.
 */
export function priceFault(price: BigNumber, currency: Currency): string | undefined {
  const decimals = CURRENCY_DECIMALS[currency];
  if ((price.decimalPlaces() ?? 0) > decimals) return `Must have at most ${decimals} decimal places in ${currency}`;
  if (price.precision(false) > MAX_SIGNIFICANT_DIGITS) {
    return `Must have at most ${MAX_SIGNIFICANT_DIGITS} significant digits`;
  }
  return undefined;
}

/** Converts a number from a request to an exact decimal: the shortest that parses to it, which is the client's text. */
export function exactDecimal(price: number): BigNumber {
  return new BigNumber(String(price));
}
