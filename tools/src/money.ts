import { formatUnits, parseUnits } from "viem";

/** An amount for a reader and for a program. */
export interface Money {
  /** For example `2.50 USDC`. */
  text: string;
  /** Smallest units of the token, a decimal string. */
  baseUnits: string;
}

/** Decimals of the tokens that deals are paid in. */
const DECIMALS: Readonly<Record<string, number>> = { USDC: 6, WETH: 18 };
/** Shown at least, as prices are written. */
const SHOWN_DECIMALS = 2;

/** An amount of a token, for example `2.50 USDC`. A token that isn't known is shown in its smallest units. */
export function money(units: bigint, symbol: string): Money {
  return { text: written(units, symbol), baseUnits: String(units) };
}

/** What a buyer pays: the deposit with its fee, for example `2.50 USDC, of which 0.05 is the fee that is never refunded`. */
export function price({ amount, fee, symbol }: { amount: bigint; fee: bigint; symbol: string }): Money & {
  feeBaseUnits: string;
} {
  const [feeDigits = ""] = written(fee, symbol).split(" ");
  const text = `${written(amount, symbol)}, of which ${feeDigits} is the fee that is never refunded`;
  return { text, baseUnits: String(amount), feeBaseUnits: String(fee) };
}

/**
 * Smallest units of a decimal amount such as `2.5`; undefined if it isn't a plain decimal number, or has more decimals than
 * the token.
 */
export function parseAmount(text: string, symbol: string): bigint | undefined {
  const decimals = DECIMALS[symbol];
  const [, , fraction = ""] = /^(\d{1,30})(?:\.(\d{1,30}))?$/.exec(text) ?? [];
  if (decimals === undefined || fraction.length > decimals || !/^\d/.test(text)) return undefined;
  return /^\d{1,30}(\.\d{1,30})?$/.test(text) ? parseUnits(text, decimals) : undefined;
}

function written(units: bigint, symbol: string): string {
  const decimals = DECIMALS[symbol];
  if (decimals === undefined) return `${units} of the smallest units of ${symbol}`;
  const [whole = "0", fraction = ""] = formatUnits(units, decimals).split(".");
  return `${whole}.${fraction.padEnd(SHOWN_DECIMALS, "0")} ${symbol}`;
}
