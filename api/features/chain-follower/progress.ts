import type { Network } from "../../config/constants.ts";
import type { ChainProgress } from "../transactions/ports.ts";
import { moveId } from "./model.ts";
import type { FollowerModels } from "./model.ts";

/** How far the follower has come, read from what it has written. */
export function createChainProgress({ applied, cursors }: FollowerModels): ChainProgress {
  return {
    async reached() {
      const found = await cursors.find().lean();
      return new Map(found.map((cursor): [Network, number] => [cursor._id, cursor.headNumber]));
    },
    appliedDelivery: (network, escrowId, session) =>
      applied
        .findOne({ _id: moveId(network, { escrowId, type: "DeliverySubmitted" }), live: true }, null, { session })
        .lean(),
  };
}
