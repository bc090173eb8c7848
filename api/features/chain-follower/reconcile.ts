import type { IndexedEvent } from "../../indexer/schemas.ts";
import type { AppliedEventRecord } from "./model.ts";

/** An escrow makes each kind of move at most once, so this names a move wherever it was mined. */
export function moveKey(event: Pick<IndexedEvent, "escrowId" | "type">): string {
  return `${event.escrowId}:${event.type}`;
}

/** How a page of the subgraph's events differs from what was applied. */
export interface Reconciliation<E extends IndexedEvent> {
  /** Moves that are on chain and not applied, in chain order, each with the incarnation that it will have. */
  fresh: { event: E; incarnation: number }[];
  /** Applied moves that were mined again in another block or transaction. */
  moved: { event: E; applied: AppliedEventRecord }[];
  /** Applied moves of the page's blocks that the page lacks: withdrawn, or mined again elsewhere. */
  missing: AppliedEventRecord[];
}

/**
 * Compares a page of events with what was applied.
 * @param known what was applied of the page's moves, live or withdrawn
 * @param inBlocks what was applied, and is live, of the blocks that the page covers
 */
export function reconcile<E extends IndexedEvent>(
  events: readonly E[],
  known: readonly AppliedEventRecord[],
  inBlocks: readonly AppliedEventRecord[],
): Reconciliation<E> {
  const knownByKey = new Map(known.map((record) => [moveKey(record), record]));
  const seen = new Set(events.map(moveKey));
  const result: Reconciliation<E> = { fresh: [], moved: [], missing: [] };
  for (const event of events) {
    const record = knownByKey.get(moveKey(event));
    if (record === undefined) result.fresh.push({ event, incarnation: 0 });
    else if (!record.live) result.fresh.push({ event, incarnation: record.incarnation });
    else if (record.blockHash !== event.blockHash || record.txHash !== event.txHash) {
      result.moved.push({ event, applied: record });
    }
  }
  result.missing = inBlocks.filter((record) => !seen.has(moveKey(record)));
  return result;
}
