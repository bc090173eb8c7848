import type { IndexedEvent } from "../../indexer/schemas.ts";
import type { AppliedEventRecord } from "./model.ts";

/** An escrow makes each kind of move at most once, so this names a move wherever it was mined. */
export function moveKey(event: Pick<IndexedEvent, "escrowId" | "type">): string {
  return `${event.escrowId}:${event.type}`;
}

/** How a reading of the subgraph differs from what was applied. */
export interface Reconciliation<E extends IndexedEvent> {
  /** Moves that are on chain and not applied, in chain order, each with the incarnation that it will have. */
  fresh: { event: E; incarnation: number }[];
  /** Applied moves that were mined again in another block or transaction. */
  moved: { event: E; applied: AppliedEventRecord }[];
  /** Applied moves that are no longer on chain. */
  withdrawn: AppliedEventRecord[];
}

/**
 * Compares a complete reading of a range of blocks with what was applied in it. `applied` may reach further back than
 * `events`; `windowStart` is the first block that the reading covers, and only moves in it can be missed.
 */
export function reconcile<E extends IndexedEvent>(
  events: readonly E[],
  applied: readonly AppliedEventRecord[],
  windowStart: number,
): Reconciliation<E> {
  const known = new Map(applied.map((record) => [moveKey(record), record]));
  const seen = new Set(events.map(moveKey));
  const result: Reconciliation<E> = { fresh: [], moved: [], withdrawn: [] };
  for (const event of events) {
    const record = known.get(moveKey(event));
    if (record === undefined) result.fresh.push({ event, incarnation: 0 });
    else if (!record.live) result.fresh.push({ event, incarnation: record.incarnation });
    else if (record.blockHash !== event.blockHash || record.txHash !== event.txHash) {
      result.moved.push({ event, applied: record });
    }
  }
  for (const record of applied) {
    if (record.live && record.blockNumber >= windowStart && !seen.has(moveKey(record))) result.withdrawn.push(record);
  }
  return result;
}
