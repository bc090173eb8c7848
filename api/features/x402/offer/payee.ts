import { isAddressEqual } from "viem";
import type { Address } from "viem";

import { ChainUnavailableError } from "../../../chain/errors.ts";
import type { PaymentChain, PaymentReads } from "../../../chain/payment-chain.ts";
import { ConfigurationError } from "../../../config/env.ts";

/**
 * Checks once that payments don't go to the treasury, where they would mix with the platform's fees. Every paid call waits
 * for the result; after an outage the next one checks again.
 */
export class PayeeCheck {
  readonly #chain: PaymentChain;
  readonly #payTo: Address;
  #isChecked = false;

  constructor({ chain, payTo }: { chain: PaymentChain; payTo: Address }) {
    this.#chain = chain;
    this.#payTo = payTo;
  }

  /** @throws ConfigurationError, ChainUnavailableError, also once the signal aborts */
  async require(signal: AbortSignal): Promise<void> {
    await this.#compare(this.#chain.until(signal));
  }

  /** Throws `ConfigurationError` for a wrong payee. Ignores an unavailable server, which may recover. */
  async atStart(): Promise<void> {
    try {
      await this.#compare(this.#chain);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
    }
  }

  async #compare(reads: PaymentReads): Promise<void> {
    if (this.#isChecked) return;
    if (isAddressEqual(await reads.treasury(), this.#payTo)) {
      throw new ConfigurationError(["X402_PAY_TO is the treasury: payments need an address of their own"]);
    }
    this.#isChecked = true;
  }
}
