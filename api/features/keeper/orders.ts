import type { Model } from "mongoose";
import type { Hex } from "viem";

import { queuedFields } from "../../chain/sending/record.ts";
import type { Network } from "../../config/constants.ts";
import { orderId } from "./model.ts";
import type { KeeperMove, KeeperOrderRecord } from "./model.ts";

/** The queue of a network's moves. */
export interface KeeperOrders {
  /** Queues a move for each of these escrows that has none. @returns how many are new */
  put(move: KeeperMove, escrowIds: readonly Hex[]): Promise<number>;
}

/** Creates the queue of one network. The id of an order keeps two workers from queueing a move twice. */
export function createKeeperOrders(model: Model<KeeperOrderRecord>, network: Network, now: () => Date): KeeperOrders {
  return {
    async put(move, escrowIds) {
      if (escrowIds.length === 0) return 0;
      const ids = escrowIds.map((escrowId) => orderId(network, move, escrowId));
      // Usually all are queued already: an escrow is found again until the subgraph shows its end.
      const known = await model.find({ _id: { $in: ids } }, { _id: 1 }).lean();
      const queued = new Set(known.map(({ _id }) => _id));
      const missing = escrowIds.filter((escrowId) => !queued.has(orderId(network, move, escrowId)));
      if (missing.length === 0) return 0;
      const { upsertedCount } = await model.bulkWrite(
        missing.map((escrowId) => ({
          updateOne: {
            filter: { _id: orderId(network, move, escrowId) },
            update: {
              $setOnInsert: { network, move, escrowId: escrowId.toLowerCase() as Hex, ...queuedFields(now()) },
            },
            upsert: true,
          },
        })),
        { ordered: false },
      );
      return upsertedCount;
    },
  };
}
