import { formatUnits, parseUnits } from "viem";
import { z } from "zod";

import { USD_DECIMALS } from "../../config/constants.ts";

/** US dollars as a wallet bounds them, in a request. */
export const mandateUsd = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,6})?$/, "Must be US dollars such as 12.50: up to 9 digits, and up to 6 decimals")
  .meta({ id: "MandateUsd", description: "US dollars such as `12.50`; 10⁻⁶ of them in the typed data" });

/** 10⁻⁶ US dollars of a text such as `12.50`. */
export const toUsdUnits = (usd: string): bigint => parseUnits(usd, USD_DECIMALS);

/** US dollars as JSON has them, such as `12.5`, of 10⁻⁶ US dollars. */
export const usdText = (usd: bigint): string => formatUnits(usd, USD_DECIMALS);
