import type { Network } from "../../config/constants.ts";
import type { IndexedBlock } from "../../indexer/indexer-client.ts";
import { isReadable } from "../../indexer/schemas.ts";
import type { IndexedEscrow, ReadEvent } from "../../indexer/schemas.ts";
import { moveId } from "./model.ts";

/** A page's new events, split at the last block with enough blocks on top of it. */
export interface Confirmed {
  /** That block's number; negative while the chain is shorter than the required depth. */
  block: number;
  /** Events that are applied and announced now, in chain order. */
  events: ReadEvent[];
  /** Events that wait for further blocks, in chain order. */
  waiting: ReadEvent[];
  /**
   * Unix seconds up to which no event waits: the head's time, or that of the first waiting event. Null if the subgraph
   * doesn't report it.
   */
  timestamp: number | null;
}

/**
 * Splits the new events of a page.
 * @param confirmations blocks that must follow an event's block before the event is announced; 0 announces at once
 */
export function splitConfirmed(fresh: readonly ReadEvent[], head: IndexedBlock, confirmations: number): Confirmed {
  const block = head.number - confirmations;
  const events = fresh.filter((event) => event.blockNumber <= block);
  const waiting = fresh.slice(events.length);
  const [first] = waiting;
  if (first === undefined) return { block, events, waiting, timestamp: head.timestamp };
  return { block, events, waiting, timestamp: isReadable(first) ? first.timestamp : null };
}

/** Whether some move of an escrow still waits for further blocks. */
export function isUnconfirmed(escrow: IndexedEscrow | undefined, { block }: Confirmed): boolean {
  return escrow?.events.some(({ blockNumber }) => blockNumber > block) === true;
}

/** Ids of the moves that wait for further blocks. */
export function waitingMoves(network: Network, { waiting }: Confirmed): Set<string> {
  return new Set(waiting.filter(isReadable).map((event) => moveId(network, event)));
}
