import { formatUnits } from "viem";

import type { DealTerms } from "../../../sdk/src/index.ts";

const USDC_DECIMALS = 6;
const ETHER_DECIMALS = 18;
/** Addresses of WETH on the networks: the same on every chain of Optimism's design. */
const WETH = "0x4200000000000000000000000000000000000006";

/** An amount of a deal's token, for example `2.50 USDC`. Deals are paid in USDC or WETH. */
export function amountText({ token }: Pick<DealTerms, "token">, units: bigint): string {
  const isWeth = token.toLowerCase() === WETH;
  const [whole = "0", fraction = ""] = formatUnits(units, isWeth ? ETHER_DECIMALS : USDC_DECIMALS).split(".");
  return `${whole}.${fraction.padEnd(2, "0")} ${isWeth ? "WETH" : "USDC"}`;
}
