import type { IndexedBlock } from "../../indexer/indexer-client.ts";
import type { Applied } from "./applier.ts";

/** The result of one page of the subgraph's events. */
export interface FollowerStep {
  head: IndexedBlock;
  /** Unix seconds up to which everything has been applied, unless `hasMore`; null if that isn't known. */
  appliedTime: number | null;
  applied: number;
  withdrawn: number;
  /** Wallets whose deals have settled or lost their settlement. */
  settledWallets: string[];
  /** True if there are more pages, so that not everything up to `head` has been applied. */
  hasMore: boolean;
}

/** Sums up what one page changed. */
export function toStep(
  head: IndexedBlock,
  hasMore: boolean,
  done: readonly Applied[] = [],
  appliedTime: number | null = null,
): FollowerStep {
  return {
    head,
    appliedTime,
    applied: done.reduce((sum, { freshCount }) => sum + freshCount, 0),
    withdrawn: done.reduce((sum, { withdrawnCount }) => sum + withdrawnCount, 0),
    settledWallets: [...new Set(done.flatMap(({ settledWallets }) => [...settledWallets]))],
    hasMore,
  };
}
