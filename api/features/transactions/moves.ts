import { describeMove } from "../../chain/calldata.ts";
import type { PartyMove } from "../../chain/calldata.ts";
import { claimableAt, finalizableAt, graceEnd, resolvableAt, windowEnd } from "./deadlines.ts";
import type { DealTimes } from "./deadlines.ts";
import type { TransactionStatus } from "./model.ts";

/** Who may make a move. `resolver`: the contract that puts rulings and agreements on chain. */
export const MOVERS = ["buyer", "seller", "anyone", "resolver"] as const;
export type Mover = (typeof MOVERS)[number];

/** A move that the escrow contract accepts now, or will if the deal stays in its state. Times are in unix seconds. */
export type NextMove = {
  /** First second in which the chain accepts it; null if it does already. */
  opensAt: number | null;
  /** Last second; null if it stays open. */
  availableUntil: number | null;
} & ({ move: PartyMove; by: Exclude<Mover, "resolver"> } | { move: "resolve"; by: "resolver" });

/** The moves that a deal's state leaves open, now or later, in the order in which they begin. */
export function nextMoves(deal: DealTimes & { status: TransactionStatus }): NextMove[] {
  const opensAt = null;
  switch (deal.status) {
    case "funded":
      return [
        { move: "submitDelivery", by: "seller", opensAt, availableUntil: deal.deadline },
        { move: "refund", by: "seller", opensAt, availableUntil: graceEnd(deal) },
        { move: "claimAbandoned", by: "buyer", opensAt: claimableAt(deal), availableUntil: null },
      ];
    case "delivered": {
      const availableUntil = windowEnd(deal);
      return [
        { move: "accept", by: "buyer", opensAt, availableUntil },
        { move: "openDispute", by: "buyer", opensAt, availableUntil },
        ...fromThenOn("finalize", finalizableAt(deal)),
      ];
    }
    case "disputed":
      // A dispute without a ruling can be ended after a timeout, so it doesn't lock the funds forever.
      return [
        { move: "resolve", by: "resolver", opensAt, availableUntil: null },
        ...fromThenOn("resolveExpired", resolvableAt(deal)),
      ];
    default:
      return [];
  }
}

/** A move that anyone may make from a time on; none if the time isn't known. */
function fromThenOn(move: "finalize" | "resolveExpired", opensAt: number | null): NextMove[] {
  return opensAt === null ? [] : [{ move, by: "anyone", opensAt, availableUntil: null }];
}

/** Whether the chain still accepts a move at a time (unix seconds), or will later. */
export function isAhead({ availableUntil }: NextMove, now: number): boolean {
  return availableUntil === null || now <= availableUntil;
}

/** Whether the chain accepts a move at a time (unix seconds). */
export function isOpen(move: NextMove, now: number): boolean {
  return (move.opensAt === null || now >= move.opensAt) && isAhead(move, now);
}

/** A move in plain words. */
export function wordsOf({ move }: NextMove): string {
  return move === "resolve" ? "Decide the dispute: by a ruling, or as both parties agreed" : describeMove(move);
}
