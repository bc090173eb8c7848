import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { ReadEvent } from "../../indexer/schemas.ts";
import type { Anchor, AppliedEventModel, CursorRecord } from "./model.ts";

/**
 * The events of a page that follow the last one read; undefined if the page doesn't continue from it. A page starts
 * with that last event. A block's hash covers every block below it. While the chain has the event in the same block,
 * everything that was read before is therefore still on chain.
 */
export function findContinuation(anchor: Anchor | null, events: readonly ReadEvent[]): ReadEvent[] | undefined {
  if (anchor === null) return [...events];
  const [first, ...rest] = events;
  if (first === undefined || !isSame(anchor, first)) return undefined;
  return rest;
}

/** The position of an event. */
export function anchorOf(event: ReadEvent): Anchor {
  return { ordinal: Number(event.ordinal), blockHash: event.blockHash };
}

const isSame = (anchor: Anchor, event: ReadEvent): boolean =>
  BigInt(anchor.ordinal) === event.ordinal && anchor.blockHash === event.blockHash;

/** Inputs of the search for the fork. */
export interface ForkSearch {
  network: Network;
  indexer: Pick<Indexer, "eventsFrom">;
  applied: AppliedEventModel;
}

/**
 * The last applied move that is still on chain; null if none is. Gallops back from the newest, then bisects, so a
 * reorganisation of any depth costs only a few small reads.
 */
export async function findFork(
  { network, indexer, applied }: ForkSearch,
  cursor: CursorRecord,
): Promise<Anchor | null> {
  // While an earlier reorganisation is being followed, the moves applied above its fork are from several branches.
  const newest = cursor.forkOrdinal ?? cursor.anchor?.ordinal ?? 0;
  const moveAt = (rank: number): Promise<Anchor | null> =>
    applied
      .findOne({ network, live: true, ordinal: { $lte: newest } }, { ordinal: 1, blockHash: 1 })
      .sort({ ordinal: -1 })
      .skip(rank)
      .lean();
  const isOnChain = async (move: Anchor): Promise<boolean> => {
    const [first] = (await indexer.eventsFrom(BigInt(move.ordinal), 1)).events;
    return first !== undefined && isSame(move, first);
  };

  /** Rank of the oldest move known to be gone. */
  let gone = -1;
  let kept = 0;
  let fork = await moveAt(kept);
  while (fork !== null && !(await isOnChain(fork))) {
    gone = kept;
    kept = kept * 2 + 1;
    fork = await moveAt(kept);
  }
  while (kept - gone > 1) {
    const middle = Math.floor((gone + kept) / 2);
    const move = await moveAt(middle);
    if (move !== null && !(await isOnChain(move))) gone = middle;
    else [kept, fork] = [middle, move];
  }
  return fork === null ? null : { ordinal: fork.ordinal, blockHash: fork.blockHash };
}
