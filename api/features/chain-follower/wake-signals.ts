import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import { followChanges } from "../../jobs/change-loop.ts";
import type { Logger } from "../../lib/logger.ts";

/** The count of wakes of a network's follower. */
interface WakeRecord {
  _id: Network;
  wakes: number;
}

const schema = new Schema<WakeRecord>(
  { _id: { type: String, enum: NETWORKS, required: true }, wakes: { type: Number, required: true } },
  { collection: "chain_wakes", versionKey: false, strict: "throw" },
);

/**
 * Wakes followers in any process of the service, by a change stream of MongoDB: the worker may be another process than the
 * API. A lost wake costs nothing but the rest of the follower's pause.
 */
export class WakeSignals {
  readonly #model: Model<WakeRecord>;
  readonly #log: Logger;

  constructor({ connection, log }: { connection: Connection; log: Logger }) {
    this.#model = connection.model<WakeRecord>("ChainWake", schema);
    this.#log = log;
  }

  /** Says that something has happened on these networks. */
  async wake(networks: readonly Network[]): Promise<void> {
    await this.#model.bulkWrite(
      networks.map((network) => ({
        updateOne: { filter: { _id: network }, update: { $inc: { wakes: 1 } }, upsert: true },
      })),
    );
  }

  /** Calls `onWake` for every wake while it runs. */
  listening(onWake: (network: Network) => void): BackgroundLoop {
    return followChanges({
      name: "chain-follower.listen",
      model: this.#model,
      onChange: (change) => {
        if ("documentKey" in change) onWake(change.documentKey._id);
      },
      log: this.#log,
    });
  }
}
