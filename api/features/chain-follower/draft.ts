import type { Network } from "../../config/constants.ts";
import type { EscrowEventType, IndexedEscrow, IndexedEventWithEscrow } from "../../indexer/schemas.ts";
import { eventIdOf } from "../events/recorder.ts";
import type { Announcement } from "../events/recorder.ts";
import { announceMove, announceWithdrawal, targetsOf } from "../transactions/announce.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import { termDifferences, withChain, withSnapshot } from "../transactions/snapshot.ts";
import { unsolicitedRecord } from "../transactions/unsolicited.ts";
import type { AppliedEventRecord } from "./model.ts";
import { escrowAfter, isSettling, withoutMove } from "./moment.ts";

/** An escrow makes each kind of move at most once, so this names a move in any block. */
export function moveId(network: Network, move: { escrowId: string; type: EscrowEventType }): string {
  return `${network}:${move.escrowId}:${move.type}`;
}

/** The stored state of its escrows that a draft starts from. */
export interface DraftFacts {
  network: Network;
  chainId: number;
  escrowContract: `0x${string}`;
  /** Epoch of the cursor that is written with the draft. */
  epoch: number;
  now: Date;
  records: readonly TransactionRecord[];
  applied: readonly AppliedEventRecord[];
  /** Agent ids by lower-case wallet for the parties of unsolicited escrows, without newcomers. */
  agentIds: ReadonlyMap<string, string>;
  /** endpointUrl by service id. */
  endpointUrls: ReadonlyMap<string, string>;
  /** The announced events among those that a withdrawal could affect. */
  announced: ReadonlySet<string>;
}

/** The changes that a draft has computed. */
export interface DraftChanges {
  created: TransactionRecord[];
  /** New records, as opposed to records with only a new state. */
  replaced: TransactionRecord[];
  updated: TransactionRecord[];
  /** Moves that were never applied before, and others. */
  applied: { first: AppliedEventRecord[]; changed: AppliedEventRecord[] };
  announcements: Announcement[];
  freshCount: number;
  withdrawnCount: number;
  /** Wallets whose deals have settled or lost their settlement. */
  settledWallets: ReadonlySet<string>;
}

/** The record that an escrow belongs to, and the records with other terms whose id it has taken. */
interface Ownership {
  owner: TransactionRecord;
  losers: TransactionRecord[];
}

/** Announcements that a move may have caused. */
const ANNOUNCED_BY: Readonly<Record<EscrowEventType, readonly string[]>> = {
  EscrowCreated: ["escrow.funded"],
  DeliverySubmitted: ["service.delivered", "delivery.submitted", "delivery.overdue"],
  EscrowReleased: ["escrow.released", "escrow.finalized"],
  EscrowRefunded: ["escrow.refunded"],
  EscrowAbandoned: ["escrow.abandoned"],
  DisputeOpened: ["dispute.created"],
  EscrowResolved: ["dispute.resolved"],
};

/** Ids of the events that announced a move, if any did. */
export function announcedIds(move: AppliedEventRecord, record: TransactionRecord): string[] {
  return ANNOUNCED_BY[move.type].map((type) => eventIdOf(record, type, move.incarnation));
}

/** Computes in memory what moves of escrows change. It reads and writes nothing. */
export function createDraft(facts: DraftFacts) {
  const { network, epoch, now } = facts;
  const records = new Map(facts.records.map((record) => [record._id, record]));
  const applied = new Map(facts.applied.map((move) => [move._id, move]));
  const created = new Set<string>();
  const replaced = new Set<string>();
  const updated = new Set<string>();
  const changedMoves = new Set<string>();
  const settledWallets = new Set<string>();
  const announcements: Announcement[] = [];
  let freshCount = 0;
  let withdrawnCount = 0;

  const recordsOf = (escrowId: string) => [...records.values()].filter((record) => record.escrowId === escrowId);
  const liveMovesOf = (escrowId: string) =>
    [...applied.values()]
      .filter((move) => move.escrowId === escrowId && move.live)
      .sort((one, other) => other.ordinal - one.ordinal);
  const targets = (record: TransactionRecord) =>
    targetsOf(record, record.serviceId === null ? null : (facts.endpointUrls.get(record.serviceId) ?? null));

  /** Leaves out newcomers among the parties of an unsolicited escrow. They get its moves in their turn. */
  const toPresent = (announcement: Announcement): Announcement => {
    const { record, recipients, parties = [] } = announcement;
    if ("recordId" in record || !record.unsolicited) return announcement;
    const present = new Set(facts.agentIds.values());
    const isPresent = (agentId: string | null) => agentId !== null && present.has(agentId);
    return { ...announcement, recipients: recipients.filter(isPresent), parties: parties.filter(isPresent) };
  };

  function change(record: TransactionRecord): void {
    records.set(record._id, { ...record, updatedAt: now });
    updated.add(record._id);
  }

  function keep(move: AppliedEventRecord): void {
    applied.set(move._id, move);
    changedMoves.add(move._id);
  }

  /** The checkout with exactly these terms, or else an unsolicited record. */
  function ownershipOf(escrow: IndexedEscrow): Ownership {
    const own = recordsOf(escrow.id);
    const match = own.find((record) => termDifferences(record, escrow).length === 0);
    if (match !== undefined) return { owner: match, losers: own.filter((record) => record !== match) };
    const record = unsolicitedRecord(escrow, {
      network,
      chainId: facts.chainId,
      escrowContract: facts.escrowContract,
      sellerAgentId: facts.agentIds.get(escrow.seller) ?? null,
      buyerAgentId: facts.agentIds.get(escrow.buyer) ?? null,
      now,
    });
    // The id was taken before, by an escrow that a reorganisation replaced with this one.
    const earlier = own.find(({ unsolicited }) => unsolicited);
    return {
      owner: earlier === undefined ? record : { ...record, _id: earlier._id },
      losers: own.filter(({ unsolicited }) => !unsolicited),
    };
  }

  /** Updates an escrow's records to the state after a move, and returns the one that the move belongs to. */
  function settleOwnership({ owner, losers }: Ownership, escrow: IndexedEscrow): TransactionRecord {
    for (const loser of losers) {
      if (loser.expiredBy !== "escrow_id_taken") change(withChain(loser, escrow));
    }
    const stored = records.get(owner._id);
    if (stored === undefined) created.add(owner._id);
    else if (stored !== owner) replaced.add(owner._id);
    change(withChain(owner, escrow));
    return records.get(owner._id) ?? owner;
  }

  const placeOf = (event: IndexedEventWithEscrow) => ({
    epoch,
    ordinal: Number(event.ordinal),
    blockNumber: event.blockNumber,
    blockHash: event.blockHash,
    txHash: event.txHash,
    timestamp: event.timestamp,
  });

  function withdraw(move: AppliedEventRecord): void {
    const record = records.get(move.transactionId);
    if (isSettling(move.type) && record !== undefined) {
      settledWallets.add(record.buyerAddress.toLowerCase()).add(record.sellerAddress.toLowerCase());
    }
    withdrawnCount += 1;
    if (record !== undefined) change(withSnapshot(record, withoutMove(record.escrow, move.type)));
    if (move.type === "EscrowCreated") {
      // Checkouts that lost the id to this escrow get it back.
      for (const loser of recordsOf(move.escrowId)) {
        if (loser._id !== move.transactionId) change(withSnapshot(loser, null));
      }
    }
    const eventIds = record === undefined ? [] : announcedIds(move, record).filter((id) => facts.announced.has(id));
    const wasAnnounced = record !== undefined && eventIds.length > 0;
    keep({ ...move, live: false, incarnation: move.incarnation + (wasAnnounced ? 1 : 0) });
    if (!wasAnnounced) return;
    const current = records.get(record._id) ?? record;
    const fact = { type: move.type, incarnation: move.incarnation, eventIds };
    announcements.push(announceWithdrawal(current, fact, targets(current), now));
  }

  function applyFresh(event: IndexedEventWithEscrow, ownership: Ownership, incarnation: number): void {
    const record = settleOwnership(ownership, escrowAfter(event.escrow, event.ordinal));
    freshCount += 1;
    if (isSettling(event.type)) settledWallets.add(event.buyer).add(event.seller);
    keep({
      _id: moveId(network, event),
      network,
      escrowId: event.escrowId,
      type: event.type,
      transactionId: record._id,
      incarnation,
      live: true,
      ...placeOf(event),
      parties: [event.buyer, event.seller],
      proofHash: event.proofHash,
      automatic: event.automatic,
      buyerAmount: event.buyerAmount?.toString() ?? null,
      outcome: event.outcome,
      buyerPercent: event.buyerPercent,
    });
    announcements.push(...announceMove(record, event, incarnation, targets(record)).map(toPresent));
  }

  return {
    withdraw,

    /** Withdraws the moves of an escrow that are no longer on chain, the last one first. */
    withdrawMissing(escrowId: string, escrow: IndexedEscrow | undefined): void {
      const onChain = new Set(escrow?.events.map(({ type }) => type));
      for (const move of liveMovesOf(escrowId)) if (!onChain.has(move.type)) withdraw(move);
    },

    /** Applies a move that was read: a new one, one that was mined again in another block, or a known one. */
    read(event: IndexedEventWithEscrow): void {
      const known = applied.get(moveId(network, event));
      if (known?.live === true) {
        const place = placeOf(event);
        if (known.blockHash === place.blockHash && known.ordinal === place.ordinal) {
          if (known.epoch !== epoch) keep({ ...known, epoch });
          return;
        }
        const ownership = ownershipOf(event.escrow);
        if (records.get(known.transactionId) === ownership.owner) {
          keep({ ...known, ...place });
          settleOwnership(ownership, escrowAfter(event.escrow, event.ordinal));
          return;
        }
        // Another escrow has taken the id on this branch, so the moves of the earlier one are gone.
        for (const move of liveMovesOf(event.escrowId)) withdraw(move);
      }
      const incarnation = applied.get(moveId(network, event))?.incarnation ?? 0;
      applyFresh(event, ownershipOf(event.escrow), incarnation);
    },

    /** Writes the state of an escrow into its records, whatever they say; without an escrow, that it doesn't exist. */
    restate(escrowId: string, escrow: IndexedEscrow | undefined): void {
      if (escrow !== undefined) {
        settleOwnership(ownershipOf(escrow), escrow);
        return;
      }
      for (const record of recordsOf(escrowId)) if (record.escrow !== null) change(withSnapshot(record, null));
    },

    /** Marks a move as read in the current epoch without changing it. */
    confirm(move: AppliedEventRecord): void {
      keep({ ...move, epoch });
    },

    changes(): DraftChanges {
      const stored = new Set(facts.applied.map(({ _id }) => _id));
      const movesOf = (isWanted: (id: string) => boolean) =>
        [...changedMoves].filter(isWanted).flatMap((id) => applied.get(id) ?? []);
      const pick = (ids: Iterable<string>) => [...ids].flatMap((id) => records.get(id) ?? []);
      return {
        created: pick(created),
        replaced: pick([...replaced].filter((id) => !created.has(id))),
        updated: pick([...updated].filter((id) => !created.has(id) && !replaced.has(id))),
        applied: {
          first: movesOf((id) => !stored.has(id)),
          changed: movesOf((id) => stored.has(id)),
        },
        announcements,
        freshCount,
        withdrawnCount,
        settledWallets,
      };
    },
  };
}

export type Draft = ReturnType<typeof createDraft>;
