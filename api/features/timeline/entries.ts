import type { AttemptOutcome } from "../outbox/model.ts";
import type { ChainMove, TransactionRecord } from "../transactions/model.ts";

/** Kinds of entries, in the order in which those of one moment are listed: a move comes before what reports it. */
export const ENTRY_KINDS = ["move", "audit", "webhook", "message"] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** Where to check an entry. */
export interface Proofs {
  /** The transaction on chain with the escrow's log. */
  move: Pick<TransactionRecord, "network" | "escrowId"> &
    Pick<ChainMove, "txHash" | "blockNumber"> & { event: ChainMove["type"] };
  /** The entry in the caller's memory. */
  audit: { namespace: string; key: string };
  /** The dispatch in the caller's log, and how this attempt at it ended. `attempt` counts from 1. */
  webhook: {
    deliveryId: string;
    eventId: string;
    attempt: number;
    outcome: AttemptOutcome;
    statusCode: number | null;
  };
  /** The message, which has its own route. */
  message: { messageId: string };
}

/** Something that happened to a deal, as one of its parties may see it (decision 47). */
export type TimelineEntry = {
  [Kind in EntryKind]: {
    /** Milliseconds since 1970. A block's time has whole seconds. */
    at: number;
    kind: Kind;
    title: string;
    proof: Proofs[Kind];
    /** Orders entries of one kind and moment. It is unique among them and doesn't change. */
    order: string;
  };
}[EntryKind];

/** One kind of entries of a transaction. */
export interface TimelineSource {
  /** An agent's entries, in any order and bounded in number, read with one query. */
  entriesOf(transactionId: string, agentId: string): Promise<TimelineEntry[]>;
}

/** Digits of a number in an `order`, so that texts sort like numbers. */
const ORDER_DIGITS = 8;

/** The text of a position for `order`. */
export function orderOf(position: number): string {
  return String(position).padStart(ORDER_DIGITS, "0");
}
