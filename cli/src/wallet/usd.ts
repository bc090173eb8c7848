import { formatUnits, parseUnits } from "viem";

/** US dollars are counted in millionths, like USDC. */
export const USD_DECIMALS = 6;
const AMOUNT = /^\d{1,15}(\.\d{1,6})?$/;

/** Millionths of a US dollar of a text such as `12.50`; undefined if it isn't a plain decimal with up to six decimals. */
export function parseUsd(text: string): bigint | undefined {
  return AMOUNT.test(text) ? parseUnits(text, USD_DECIMALS) : undefined;
}

/** Millionths of a US dollar for a reader: `$12.50`. */
export function usdText(units: bigint): string {
  const [whole = "0", fraction = ""] = formatUnits(units, USD_DECIMALS).split(".");
  return `$${whole}.${fraction.padEnd(2, "0")}`;
}
