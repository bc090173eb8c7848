import type { ClientSession } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { countedDealsOf } from "../agents/score.ts";
import type { KeptCountModel } from "./market-model.ts";

/** The parties of an escrow. */
export interface Parties {
  buyerAddress: string;
  sellerAddress: string;
}

/**
 * Counts the ended escrows of wallets and pairs in the order in which they ended, and tells which of them are wash trading:
 * those with which a pair has more than half of what one of the two has ended, from its fifth on. A pair takes 300 bytes of memory.
 */
export class PairCounts {
  readonly #network: Network;
  readonly #kept: KeptCountModel;
  readonly #counts = new Map<string, number>();

  /** @param kept the counts to begin with */
  constructor(network: Network, kept: KeptCountModel) {
    this.#network = network;
    this.#kept = kept;
  }

  /** Reads the kept counts of escrows, which are then known to `take`. */
  async load(escrows: readonly Parties[], session: ClientSession | null = null): Promise<void> {
    const ids = new Set(escrows.flatMap((escrow) => this.#idsOf(escrow)));
    const unknown = [...ids].filter((id) => !this.#counts.has(id));
    if (unknown.length === 0) return;
    const kept = await this.#kept
      .find({ _id: { $in: unknown } })
      .session(session)
      .lean();
    for (const id of unknown) this.#counts.set(id, 0);
    for (const { _id, ended } of kept) this.#counts.set(_id, ended);
  }

  /** Counts an escrow that has ended. @returns false for wash trading */
  take(escrow: Parties): boolean {
    const [pair, ...parties] = this.#idsOf(escrow).map((id) => {
      const ended = (this.#counts.get(id) ?? 0) + 1;
      this.#counts.set(id, ended);
      return ended;
    });
    return pair !== undefined && parties.every((party) => countedDealsOf(pair, party) === pair);
  }

  /** Every count that was read or changed. */
  entries(): IterableIterator<[id: string, ended: number]> {
    return this.#counts.entries();
  }

  /** Of the pair, and of each party. */
  #idsOf({ buyerAddress, sellerAddress }: Parties): [pair: string, ...parties: string[]] {
    const wallets = [buyerAddress.toLowerCase(), sellerAddress.toLowerCase()].sort();
    return [`${this.#network}:${wallets.join(":")}`, ...new Set(wallets.map((wallet) => `${this.#network}:${wallet}`))];
  }
}
