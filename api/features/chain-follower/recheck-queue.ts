import type { Connection } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { followerModels, quarantineId } from "./model.ts";
import { AT_ONCE, storedError } from "./quarantine.ts";

/** Has escrows read again from the subgraph. */
export interface RecheckQueue {
  /** Whether the moves of these escrows wait, by lower-case id: their copies are known to be old. */
  waiting(network: Network, escrowIds: readonly string[]): Promise<Set<string>>;
  /** Has the follower read an escrow's moves and state again as soon as it can, in any process. */
  request(network: Network, escrowId: `0x${string}`, reason: Error, now: Date): Promise<void>;
}

/** Rechecks through the quarantine: the follower compares a quarantined escrow with the chain before it ends it. */
export function recheckQueue(connection: Connection): RecheckQueue {
  const { quarantine } = followerModels(connection);
  return {
    async waiting(network, escrowIds) {
      const ids = escrowIds.map((escrowId) => quarantineId(network, escrowId));
      const found = await quarantine.find({ _id: { $in: ids } }, { escrowId: 1 }).lean();
      return new Set(found.map(({ escrowId }) => escrowId));
    },

    async request(network, escrowId, reason, now) {
      await quarantine.updateOne(
        { _id: quarantineId(network, escrowId) },
        {
          $set: { error: storedError(reason), retryAt: AT_ONCE },
          $setOnInsert: { network, escrowId, attempts: 0, createdAt: now },
        },
        { upsert: true },
      );
    },
  };
}
