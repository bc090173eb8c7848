import { isAddressEqual } from "viem";
import type { Address } from "viem";

import { ChainUnavailableError } from "../../../chain/errors.ts";
import type { PaymentChain, PaymentReads } from "../../../chain/payment-chain.ts";
import { ConfigurationError } from "../../../config/env.ts";

/**
 * Checks once that payments don't go to the treasury, where they couldn't be told from the platform's fees (decision 36).
 * Every call waits for the result; after an outage the next one asks again.
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

    /** Fails the start for a wrong payee, but not for an unavailable server, which may come back. */
    async atStart(): Promise<void> {
      try {
        await require(chain);
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    },
  };
}
