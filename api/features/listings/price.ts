import BigNumber from "bignumber.js";

import { CURRENCY_DECIMALS } from "../../config/constants.ts";
import type { Currency } from "../../config/constants.ts";

/** Dearest price a unit may have, in units of its currency. */
export const MAX_PRICE = 1_000_000_000;

/** A JSON number carries so many significant digits exactly; with more it would not be the number that was written. */
const MAX_SIGNIFICANT_DIGITS = 15;

/**
 * What is wrong with a price in a currency; undefined when it is fine. A price has no more decimal places than the token
 * it settles in, so that no part of it is lost at checkout.
 */
export function priceFault(price: BigNumber, currency: Currency): string | undefined {
  const decimals = CURRENCY_DECIMALS[currency];
  if ((price.decimalPlaces() ?? 0) > decimals) return `Must have at most ${decimals} decimal places in ${currency}`;
  if (price.precision(false) > MAX_SIGNIFICANT_DIGITS) {
    return `Must have at most ${MAX_SIGNIFICANT_DIGITS} significant digits`;
  }
  return undefined;
}

/** A number of a request as an exact decimal: the shortest one that is this number, which is what the client wrote. */
export function exactDecimal(price: number): BigNumber {
  return new BigNumber(String(price));
}
