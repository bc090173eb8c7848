import BigNumber from "bignumber.js";
import { Types } from "mongoose";

import type { EtherPrice } from "../../chain/ether-price.ts";
import type { Currency } from "../../config/constants.ts";
import { CURRENCY_DECIMALS } from "../../config/constants.ts";
import { MAX_PRICE, exactDecimal } from "./price.ts";

/** Prices in some currencies. Both bounds are inclusive decimals in units of the currency. */
export interface PriceRange {
  currencies: readonly Currency[];
  min: string;
  max: string;
}

/** Inclusive bounds of a price in US dollars. */
export interface UsdBounds {
  minPrice?: number | undefined;
  maxPrice?: number | undefined;
}

const DOLLARS: readonly Currency[] = ["USDC", "USD"];
const ETHER: readonly Currency[] = ["ETH"];
const CEIL = BigNumber.clone({ DECIMAL_PLACES: CURRENCY_DECIMALS.ETH, ROUNDING_MODE: BigNumber.ROUND_CEIL });
const FLOOR = BigNumber.clone({ DECIMAL_PLACES: CURRENCY_DECIMALS.ETH, ROUNDING_MODE: BigNumber.ROUND_FLOOR });

/**
 * The prices whose USD value is within the bounds, as a range for each unit. The database and the search index can then
 * compare stored prices. POL has no feed, so no range includes it. Bounds in ether are rounded inwards to the decimals that
 * a price can have, so rounding never changes whether a price matches.
 * @returns undefined without bounds; an empty array if no price can match
 * @throws ChainUnavailableError, PriceUnavailableError if ether could match and has no price from the last minute
 */
export async function priceRanges(
  { minPrice, maxPrice }: UsdBounds,
  currencies: readonly Currency[],
  etherPrice: EtherPrice,
): Promise<PriceRange[] | undefined> {
  if (minPrice === undefined && maxPrice === undefined) return undefined;
  const min = exactDecimal(minPrice ?? 0);
  const max = maxPrice === undefined ? undefined : exactDecimal(maxPrice);
  const usd = currencies.includes("ETH") ? await etherPrice() : undefined;
  return [
    toRange(DOLLARS, min, max),
    ...(usd === undefined ? [] : [toRange(ETHER, new CEIL(min).div(usd), max && new FLOOR(max).div(usd))]),
  ].flatMap((range) => {
    const wanted = range.currencies.filter((currency) => currencies.includes(currency));
    return wanted.length === 0 || new BigNumber(range.min).gt(range.max) ? [] : [{ ...range, currencies: wanted }];
  });
}

/** A price as a share of the upper bound in its currency, 0 to 1; undefined if no range has that currency. */
export function priceShareOf(
  { currency, price }: { currency: Currency; price: string },
  ranges: readonly PriceRange[],
): number | undefined {
  const range = ranges.find(({ currencies }) => currencies.includes(currency));
  return range === undefined ? undefined : Math.min(1, new BigNumber(price).div(range.max).toNumber());
}

/** The database conditions of a price range. */
export function pricesWithin({ currencies, min, max }: PriceRange) {
  return {
    currency: { $in: currencies },
    price: { $gte: Types.Decimal128.fromString(min), $lte: Types.Decimal128.fromString(max) },
  };
}

/**
 * Builds a range, with the upper bound capped at MAX_PRICE. No price is higher, and a higher bound may exceed what the
 * database can compare.
 */
function toRange(currencies: readonly Currency[], min: BigNumber, max: BigNumber | undefined): PriceRange {
  const dearest = max === undefined || max.gt(MAX_PRICE) ? new BigNumber(MAX_PRICE) : max;
  return { currencies, min: min.toFixed(), max: dearest.toFixed() };
}
