import type { AttemptOutcome } from "../outbox/model.ts";
import type { ChainMove, TransactionRecord } from "../transactions/model.ts";

/** Kinds of entries. Entries with the same time are listed in this order: a move comes before its reports. */
export const ENTRY_KINDS = ["move", "audit", "webhook", "message"] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** References by which the caller can check an entry. */
export interface Proofs {
  /** The transaction on chain with the escrow's log. */
  move: Pick<TransactionRecord, "network" | "escrowId"> &
    Pick<ChainMove, "txHash" | "blockNumber"> & { event: ChainMove["type"] };
  /** The entry in the caller's memory. */
  audit: { namespace: string; key: string };
  /** The dispatch in the caller's log, and the outcome of this attempt. `attempt` counts from 1. */
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

/** An event of a deal that the requesting party may see. */
export type TimelineEntry = {
  [Kind in EntryKind]: {
    /** Milliseconds since 1970. A block's time has whole seconds. */
    at: number;
    kind: Kind;
    title: string;
    proof: Proofs[Kind];
    /** Sort key among entries of the same kind and time. Unique among them and stable. */
    order: string;
  };
}[EntryKind];

/** One kind of entries of a transaction. */
export interface TimelineSource {
  /** An agent's entries, in any order and bounded in number, read with one query. */
  readEntries(transactionId: string, agentId: string): Promise<TimelineEntry[]>;
}

/** Digits of a number in an `order`, so that strings sort like numbers. */
const ORDER_DIGITS = 8;

/** Formats a position for `order`. */
export function orderOf(position: number): string {
  return String(position).padStart(ORDER_DIGITS, "0");
}
