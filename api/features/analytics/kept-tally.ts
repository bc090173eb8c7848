import type { Connection } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { MarketTally, tallyOf } from "./market-figures.ts";
import type { EndedDeal, TalliesByCategory } from "./market-figures.ts";
import type { KeptModels } from "./market-model.ts";
import { PairCounts } from "./wash-trading.ts";
import type { Parties } from "./wash-trading.ts";

/**
 * The running tally of a network: what was added up of every escrow that ended before the longest span, so that figures
 * of all time need not read them again. A reorganisation reaches no such escrow.
 */
export class KeptTally {
  readonly #network: Network;
  readonly #connection: Connection;
  readonly #models: KeptModels;

  constructor(network: Network, connection: Connection, models: KeptModels) {
    this.#network = network;
    this.#connection = connection;
    this.#models = models;
  }

  /** The last second whose escrows it has, unix seconds; 0 for none. */
  async through(): Promise<number> {
    return (await this.#models.progress.findById(this.#network).lean())?.through ?? 0;
  }

  /** What it has added up. */
  async tallies(): Promise<TalliesByCategory> {
    const records = await this.#models.tallies.find({ network: this.#network }).lean();
    return new Map(records.map((record) => [record.category, MarketTally.of(record)]));
  }

  /** Counts that begin with those that it has. */
  pairCounts(): PairCounts {
    return new PairCounts(this.#network, this.#models.counts);
  }

  /**
   * Adds escrows, all at once or not at all.
   * @param deals every escrow that ended after `from` and up to `to`, in the order in which they ended
   * @returns false if another worker was faster
   */
  async absorb(deals: readonly (EndedDeal & Parties)[], { from, to }: { from: number; to: number }): Promise<boolean> {
    const { tallies, counts, progress } = this.#models;
    const network = this.#network;
    try {
      return await withTransaction(this.#connection, async (session) => {
        const filter = { _id: network, through: from };
        const { matchedCount, upsertedCount } = await progress.updateOne(
          filter,
          { $set: { through: to } },
          { upsert: from === 0, session },
        );
        if (matchedCount + upsertedCount === 0) return false;
        const pairs = this.pairCounts();
        await pairs.load(deals, session);
        const added: TalliesByCategory = new Map();
        for (const deal of deals) tallyOf(added, deal.category).add(deal, pairs.take(deal));
        for (const [category, tally] of added) {
          const _id = `${network}:${category ?? ""}`;
          const kept = await tallies.findById(_id).session(session).lean();
          if (kept !== null) tally.addAll(MarketTally.of(kept));
          await tallies.replaceOne({ _id }, { network, category, ...tally.record() }, { upsert: true, session });
        }
        await counts.bulkWrite(
          [...pairs.entries()].map(([_id, ended]) => ({
            updateOne: { filter: { _id }, update: { $set: { ended } }, upsert: true },
          })),
          { session, ordered: false },
        );
        return true;
      });
    } catch (error) {
      // The progress is there already, so the upsert tried to insert a second one.
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }
}
