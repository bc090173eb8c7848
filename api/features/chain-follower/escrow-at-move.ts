import type { EscrowEventType, EscrowState, IndexedEscrow } from "../../indexer/schemas.ts";
import type { EscrowSnapshot } from "../transactions/model.ts";

const STATE_AFTER: Readonly<Record<EscrowEventType, EscrowState>> = {
  EscrowCreated: "Funded",
  DeliverySubmitted: "Delivered",
  EscrowReleased: "Released",
  EscrowRefunded: "Refunded",
  EscrowAbandoned: "Abandoned",
  DisputeOpened: "Disputed",
  EscrowResolved: "Resolved",
};

const SETTLING: ReadonlySet<EscrowEventType> = new Set<EscrowEventType>([
  "EscrowReleased",
  "EscrowRefunded",
  "EscrowAbandoned",
  "EscrowResolved",
]);

/** Whether a move ends its escrow. */
export function isSettling(type: EscrowEventType): boolean {
  return SETTLING.has(type);
}

/** The facts of an escrow that each move sets. */
interface MoveFacts {
  proofHash: unknown;
  deliveredAt: unknown;
  disputedAt: unknown;
  settledAt: unknown;
  automatic: unknown;
  outcome: unknown;
  buyerPercent: unknown;
  resolvedBy: unknown;
  resolutionMethod: unknown;
  rationaleHash: unknown;
}

const UNRESOLVED = { outcome: null, buyerPercent: null, resolvedBy: null, resolutionMethod: null, rationaleHash: null };

/** The facts that are still unset after only these moves. */
function unsetBy(types: ReadonlySet<EscrowEventType>): Partial<Record<keyof MoveFacts, null>> {
  return {
    ...(types.has("DeliverySubmitted") ? {} : { proofHash: null, deliveredAt: null }),
    ...(types.has("DisputeOpened") ? {} : { disputedAt: null }),
    ...(types.has("EscrowReleased") ? {} : { automatic: null }),
    ...(types.has("EscrowResolved") ? {} : UNRESOLVED),
    ...([...types].some(isSettling) ? {} : { settledAt: null }),
  };
}

/**
 * An escrow as it was right after a move. A page has escrows as of its head. A copy with moves that haven't been
 * applied would keep them if a reorganisation removed them before they are read.
 */
export function escrowAfter(escrow: IndexedEscrow, ordinal: bigint): IndexedEscrow {
  const last = escrow.events.at(-1);
  if (last === undefined || last.ordinal <= ordinal) return escrow;
  const events = escrow.events.filter((event) => event.ordinal <= ordinal);
  const types = new Set(events.map(({ type }) => type));
  const move = events.at(-1);
  const isSettled = [...types].some(isSettling);
  return {
    ...escrow,
    ...unsetBy(types),
    ...(isSettled ? {} : { buyerAmount: 0n, sellerAmount: 0n }),
    state: move === undefined ? "Funded" : STATE_AFTER[move.type],
    updatedBlock: move?.blockNumber ?? escrow.createdBlock,
    events,
  };
}

/** A stored escrow without one of its moves; null without its creation, because then nothing is left. */
export function withoutMove(snapshot: EscrowSnapshot | null, type: EscrowEventType): EscrowSnapshot | null {
  if (snapshot === null || type === "EscrowCreated") return null;
  const moves = snapshot.moves.filter((move) => move.type !== type);
  const last = moves.at(-1);
  if (last === undefined) return null;
  const types = new Set(moves.map((move) => move.type));
  return {
    ...snapshot,
    ...unsetBy(types),
    windowEnd: types.has("DeliverySubmitted") ? snapshot.windowEnd : null,
    ...([...types].some(isSettling) ? {} : { buyerAmount: "0", sellerAmount: "0" }),
    state: STATE_AFTER[last.type],
    updatedBlock: last.blockNumber,
    moves,
  };
}
