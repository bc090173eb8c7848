import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { collection, number, oneOf } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import type { Changes } from "../../jobs/change-loop.ts";

/** The count of wakes of a network's follower. */
const wakeFields = { _id: oneOf(NETWORKS), wakes: number };

type WakeRecord = RecordOf<typeof wakeFields>;

/**
 * Wakes followers in any process of the service, by a change stream of MongoDB: the worker may be another process than the
 * API. A lost wake costs nothing but the rest of the follower's pause.
 */
export class WakeSignals {
  readonly #model: Model<WakeRecord>;

  constructor(connection: Connection) {
    this.#model = collection(connection, "ChainWake", "chain_wakes", wakeFields);
  }

  /** Says that something has happened on these networks. */
  async wake(networks: readonly Network[]): Promise<void> {
    await this.#model.bulkWrite(
      networks.map((network) => ({
        updateOne: { filter: { _id: network }, update: { $inc: { wakes: 1 } }, upsert: true },
      })),
    );
  }

  /** Calls `onWake` for every wake. */
  listen(changes: Pick<Changes, "on">, onWake: (network: Network) => void): void {
    changes.on(this.#model, (change) => {
      if ("documentKey" in change) onWake(change.documentKey._id);
    });
  }
}
