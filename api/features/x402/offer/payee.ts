import { isAddressEqual } from "viem";
import type { Address } from "viem";

import { ChainUnavailableError } from "../../../chain/errors.ts";
import type { PaymentChain, PaymentReads } from "../../../chain/payment-chain.ts";
import { ConfigurationError } from "../../../config/env.ts";

/**
 * Checks once that payments don't go to the treasury, where they would mix with the platform's fees. Every paid call waits
 * for the result; after an outage the next one checks again.
 */
export function createPayeeCheck(chain: PaymentChain, payTo: Address) {
  let isChecked = false;

  /** @throws ConfigurationError, ChainUnavailableError */
  async function require(reads: PaymentReads): Promise<void> {
    if (isChecked) return;
    const treasury = await reads.treasury();
    if (isAddressEqual(treasury, payTo)) {
      throw new ConfigurationError(["X402_PAY_TO is the treasury: payments need an address of their own"]);
    }
    isChecked = true;
  }

  return {
    /** @throws ConfigurationError, ChainUnavailableError, also once the signal aborts */
    require: (signal: AbortSignal) => require(chain.until(signal)),

    /** Throws `ConfigurationError` for a wrong payee. Ignores an unavailable server, which may recover. */
    async atStart(): Promise<void> {
      try {
        await require(chain);
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    },
  };
}
