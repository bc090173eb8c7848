import type { EscrowState, IndexedEscrow } from "../../indexer/schemas.ts";
import { compareTerms } from "../../chain/receipts.ts";
import type { TermDifference } from "../../chain/receipts.ts";
import type { EscrowSnapshot, ListedTransaction, TransactionRecord, TransactionStatus } from "./model.ts";

/** The status of a transaction by the state of its escrow. */
export const STATUS_OF: Readonly<Record<EscrowState, TransactionStatus>> = {
  Funded: "funded",
  Delivered: "delivered",
  Released: "released",
  Refunded: "refunded",
  Disputed: "disputed",
  Resolved: "resolved",
  Abandoned: "abandoned",
};

/** The part of an indexed escrow that a transaction stores. */
export function toSnapshot(escrow: IndexedEscrow): EscrowSnapshot {
  return {
    state: escrow.state,
    valueUsd: escrow.valueUsd.toString(),
    proofHash: escrow.proofHash,
    createdAt: escrow.createdAt,
    createdTxHash: escrow.createdTxHash,
    deliveredAt: escrow.deliveredAt,
    windowEnd: escrow.deliveredAt === null ? null : escrow.deliveredAt + escrow.disputeWindow,
    disputedAt: escrow.disputedAt,
    settledAt: escrow.settledAt,
    automatic: escrow.automatic,
    outcome: escrow.outcome,
    buyerPercent: escrow.buyerPercent,
    resolvedBy: escrow.resolvedBy,
    resolutionMethod: escrow.resolutionMethod,
    rationaleHash: escrow.rationaleHash,
    buyerAmount: escrow.buyerAmount.toString(),
    sellerAmount: escrow.sellerAmount.toString(),
    updatedBlock: escrow.updatedBlock,
    moves: escrow.events.map((event) => ({
      type: event.type,
      at: event.timestamp,
      txHash: event.txHash,
      blockNumber: event.blockNumber,
    })),
  };
}

/** The terms in which an escrow on chain differs from a checkout; empty if it is the checkout's escrow. */
export function termDifferences(record: ListedTransaction, escrow: IndexedEscrow): TermDifference[] {
  return compareTerms(escrowTerms(record), {
    buyer: escrow.buyer,
    seller: escrow.seller,
    token: escrow.token.id,
    amount: escrow.amount,
    deadline: BigInt(escrow.deadline),
    disputeWindow: BigInt(escrow.disputeWindow),
    abandonmentGrace: BigInt(escrow.abandonmentGrace),
    criteriaHash: escrow.criteriaHash,
  });
}

/** The terms that the escrow of a transaction must have. */
export function escrowTerms(record: ListedTransaction) {
  return {
    escrowId: record.escrowId,
    buyer: record.buyerAddress,
    seller: record.sellerAddress,
    token: record.token.address,
    amount: BigInt(record.amount),
    deadline: record.deadline,
    disputeWindow: record.disputeWindow,
    abandonmentGrace: record.abandonmentGrace,
    criteriaHash: record.criteriaHash,
  };
}

/** The fields of a transaction that the chain determines. */
export type ChainFields = Pick<TransactionRecord, "status" | "expiredBy" | "escrow">;

/**
 * Status and escrow of a transaction, by its escrow in the subgraph. Without an escrow it awaits funding, or is expired if
 * its quote ended or it never had a checkout. If the escrow has other terms, its id was taken.
 */
export function chainFields(record: ListedTransaction, escrow: IndexedEscrow | undefined): ChainFields {
  if (escrow === undefined) {
    const isExpired = record.unsolicited || record.expiredBy === "quote";
    return {
      status: isExpired ? "expired" : "pending_funding",
      expiredBy: record.expiredBy === "quote" ? "quote" : null,
      escrow: null,
    };
  }
  if (termDifferences(record, escrow).length > 0) {
    return { status: "expired", expiredBy: "escrow_id_taken", escrow: null };
  }
  return { status: STATUS_OF[escrow.state], expiredBy: null, escrow: toSnapshot(escrow) };
}

/** The record with the subgraph's current state. */
export function withChain<R extends ListedTransaction>(record: R, escrow: IndexedEscrow | undefined): R {
  return { ...record, ...chainFields(record, escrow) };
}

/** The record with another state of its escrow; null if the chain has none. */
export function withSnapshot(record: TransactionRecord, escrow: EscrowSnapshot | null): TransactionRecord {
  if (escrow === null) return withChain(record, undefined);
  return { ...record, status: STATUS_OF[escrow.state], expiredBy: null, escrow };
}

/** Whether the escrow was funded in a block after the quote's end. */
export function isLate(record: ListedTransaction): boolean {
  return record.escrow !== null && record.quoteExpiresAt !== null && record.escrow.createdAt > record.quoteExpiresAt;
}
