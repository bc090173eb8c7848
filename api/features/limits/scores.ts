import { TESTNET } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { AccessModels } from "./access-model.ts";

/** A wallet's score as copied from a subgraph. */
export interface CopiedScore {
  network: Network;
  walletKey: string;
  score: number;
  indexedBlock: number;
}

/** Stores copies of the scores that multiply budgets. */
export interface ScoreCopies {
  /**
   * Copies testnet scores of registered wallets. A copy from a later block isn't overwritten, except with `overNewer`: after
   * a reorganisation the later block is gone.
   */
  take(scores: readonly CopiedScore[], options: { overNewer: boolean }): Promise<void>;
}

/** Creates copies in the agents' access records. */
export function createScoreCopies({ access }: Pick<AccessModels, "access">): ScoreCopies {
  return {
    async take(scores, { overNewer }) {
      const ours = scores.filter(({ network }) => network === TESTNET);
      if (ours.length === 0) return;
      await access.collection.bulkWrite(
        ours.map(({ walletKey, score, indexedBlock }) => ({
          updateOne: {
            filter: { walletKey, ...(overNewer ? {} : { scoreBlock: { $lte: indexedBlock } }) },
            update: { $set: { score, scoreBlock: indexedBlock } },
          },
        })),
        { ordered: false },
      );
    },
  };
}
