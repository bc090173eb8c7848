import type { TransactionReader } from "../transactions/reader.ts";
import { ENTRY_KINDS } from "./entries.ts";
import type { EntryKind, TimelineEntry, TimelineSource } from "./entries.ts";
import { toMoves } from "./sources.ts";

/** An entry's position: its time, then kind and `order`. */
export type TimelinePosition = Pick<TimelineEntry, "at" | "kind" | "order">;

/** The query of a timeline. */
export interface TimelineQuery {
  kind?: EntryKind | undefined;
  limit: number;
  cursor?: TimelinePosition | undefined;
}

/** A page of a timeline. */
export interface TimelinePage {
  entries: TimelineEntry[];
  /** Position after which the next page starts; null on the last page. */
  next: TimelinePosition | null;
  /** Block of the subgraph at which the moves were read. */
  indexedBlock: number;
}

/** The timelines of deals. */
export interface Timelines {
  /**
   * A page of a deal's entries for one of its parties, oldest first.
   * @throws ApiError `not_found` for other agents, `transaction_not_funded` for the seller before the funding, `indexer_unavailable`
   */
  page(agentId: string, transactionId: string, query: TimelineQuery, signal?: AbortSignal): Promise<TimelinePage>;
}

/** Dependencies of timelines. Moves come with the read of the transaction. */
export interface TimelineOptions {
  read: TransactionReader["read"];
  sources: Readonly<Record<Exclude<EntryKind, "move">, TimelineSource>>;
}

function compare(one: TimelinePosition, other: TimelinePosition): number {
  if (one.at !== other.at) return one.at - other.at;
  const kinds = ENTRY_KINDS.indexOf(one.kind) - ENTRY_KINDS.indexOf(other.kind);
  if (kinds !== 0) return kinds;
  return one.order < other.order ? -1 : Number(one.order > other.order);
}

/**
 * Joins the sources in memory. Each source bounds its entries, so the whole timeline of a transaction is small, and every
 * page reads all of it.
 */
export function createTimelines({ read, sources }: TimelineOptions): Timelines {
  return {
    async page(agentId, transactionId, { kind, limit, cursor }, signal) {
      // First, because it checks the caller's access.
      const { record, indexedBlock } = await read(transactionId, agentId, { signal });
      const wanted = ENTRY_KINDS.filter((known) => kind === undefined || known === kind);
      const found = await Promise.all(
        wanted.map(async (each) =>
          each === "move" ? toMoves(record) : sources[each].readEntries(transactionId, agentId),
        ),
      );
      const rest = found
        .flat()
        .filter((entry) => cursor === undefined || compare(entry, cursor) > 0)
        .sort(compare);
      const entries = rest.slice(0, limit);
      const last = entries.at(-1);
      if (rest.length <= limit || last === undefined) return { entries, next: null, indexedBlock };
      return { entries, next: { at: last.at, kind: last.kind, order: last.order }, indexedBlock };
    },
  };
}
