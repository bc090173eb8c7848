import type { Network } from "../../config/constants.ts";
import type { EscrowEventType, IndexedEscrow, IndexedEventWithEscrow } from "../../indexer/schemas.ts";
import { eventIdOf } from "../events/recorder.ts";
import type { Announcement } from "../events/recorder.ts";
import { announceMove, announceWithdrawal, toTargets } from "../transactions/announce.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import { termDifferences, withChain, withSnapshot } from "../transactions/snapshot.ts";
import { unsolicitedRecord } from "../transactions/unsolicited.ts";
import { moveId } from "./model.ts";
import type { AppliedEventRecord } from "./model.ts";
import { escrowAfter, isSettling, withoutMove } from "./escrow-at-move.ts";

/** The stored state of its escrows that a change set starts from. */
export interface EscrowFacts {
  network: Network;
  chainId: number;
  escrowContract: `0x${string}`;
  /** Epoch of the cursor that is written with the change set. */
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

/** The changes that a change set has computed. */
export interface Changes {
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
export class ChangeSet {
  readonly #facts: EscrowFacts;
  readonly #records: Map<string, TransactionRecord>;
  readonly #applied: Map<string, AppliedEventRecord>;
  readonly #created = new Set<string>();
  readonly #replaced = new Set<string>();
  readonly #updated = new Set<string>();
  readonly #changedMoves = new Set<string>();
  readonly #settledWallets = new Set<string>();
  readonly #announcements: Announcement[] = [];
  #freshCount = 0;
  #withdrawnCount = 0;

  constructor(facts: EscrowFacts) {
    this.#facts = facts;
    this.#records = new Map(facts.records.map((record) => [record._id, record]));
    this.#applied = new Map(facts.applied.map((move) => [move._id, move]));
  }

  withdraw(move: AppliedEventRecord): void {
    const record = this.#records.get(move.transactionId);
    if (isSettling(move.type) && record !== undefined) {
      this.#settledWallets.add(record.buyerAddress.toLowerCase()).add(record.sellerAddress.toLowerCase());
    }
    this.#withdrawnCount += 1;
    if (record !== undefined) this.#change(withSnapshot(record, withoutMove(record.escrow, move.type)));
    if (move.type === "EscrowCreated") {
      // Checkouts that lost the id to this escrow get it back.
      for (const loser of this.#recordsOf(move.escrowId)) {
        if (loser._id !== move.transactionId) this.#change(withSnapshot(loser, null));
      }
    }
    const eventIds =
      record === undefined ? [] : announcedIds(move, record).filter((id) => this.#facts.announced.has(id));
    const wasAnnounced = record !== undefined && eventIds.length > 0;
    this.#keep({ ...move, live: false, incarnation: move.incarnation + (wasAnnounced ? 1 : 0) });
    if (!wasAnnounced) return;
    const current = this.#records.get(record._id) ?? record;
    const fact = { type: move.type, incarnation: move.incarnation, eventIds };
    this.#announcements.push(announceWithdrawal(current, fact, this.#targets(current), this.#facts.now));
  }

  /** Withdraws the moves of an escrow that are no longer on chain, the last one first. */
  withdrawMissing(escrowId: string, escrow: IndexedEscrow | undefined): void {
    const onChain = new Set(escrow?.events.map(({ type }) => type));
    for (const move of this.#liveMovesOf(escrowId)) if (!onChain.has(move.type)) this.withdraw(move);
  }

  /** Applies a move that was read: a new one, one that was mined again in another block, or a known one. */
  read(event: IndexedEventWithEscrow): void {
    const known = this.#applied.get(moveId(this.#facts.network, event));
    if (known?.live === true) {
      const place = this.#toPlace(event);
      if (known.blockHash === place.blockHash && known.ordinal === place.ordinal) {
        if (known.epoch !== this.#facts.epoch) this.#keep({ ...known, epoch: this.#facts.epoch });
        return;
      }
      const ownership = this.#findOwnership(event.escrow);
      if (this.#records.get(known.transactionId) === ownership.owner) {
        this.#keep({ ...known, ...place });
        this.#settleOwnership(ownership, escrowAfter(event.escrow, event.ordinal));
        return;
      }
      // Another escrow has taken the id on this branch, so the moves of the earlier one are gone.
      for (const move of this.#liveMovesOf(event.escrowId)) this.withdraw(move);
    }
    const incarnation = this.#applied.get(moveId(this.#facts.network, event))?.incarnation ?? 0;
    this.#applyFresh(event, this.#findOwnership(event.escrow), incarnation);
  }

  /** Writes the state of an escrow into its records, whatever they say; without an escrow, that it doesn't exist. */
  restate(escrowId: string, escrow: IndexedEscrow | undefined): void {
    if (escrow !== undefined) {
      this.#settleOwnership(this.#findOwnership(escrow), escrow);
      return;
    }
    for (const record of this.#recordsOf(escrowId))
      if (record.escrow !== null) this.#change(withSnapshot(record, null));
  }

  /** Marks a move as read in the current epoch without changing it. */
  confirm(move: AppliedEventRecord): void {
    this.#keep({ ...move, epoch: this.#facts.epoch });
  }

  changes(): Changes {
    const stored = new Set(this.#facts.applied.map(({ _id }) => _id));
    const movesOf = (isWanted: (id: string) => boolean) =>
      [...this.#changedMoves].filter(isWanted).flatMap((id) => this.#applied.get(id) ?? []);
    const pick = (ids: Iterable<string>) => [...ids].flatMap((id) => this.#records.get(id) ?? []);
    return {
      created: pick(this.#created),
      replaced: pick([...this.#replaced].filter((id) => !this.#created.has(id))),
      updated: pick([...this.#updated].filter((id) => !this.#created.has(id) && !this.#replaced.has(id))),
      applied: {
        first: movesOf((id) => !stored.has(id)),
        changed: movesOf((id) => stored.has(id)),
      },
      announcements: this.#announcements,
      freshCount: this.#freshCount,
      withdrawnCount: this.#withdrawnCount,
      settledWallets: this.#settledWallets,
    };
  }

  #recordsOf(escrowId: string) {
    return [...this.#records.values()].filter((record) => record.escrowId === escrowId);
  }

  #liveMovesOf(escrowId: string) {
    return [...this.#applied.values()]
      .filter((move) => move.escrowId === escrowId && move.live)
      .sort((one, other) => other.ordinal - one.ordinal);
  }

  #targets(record: TransactionRecord) {
    return toTargets(
      record,
      record.serviceId === null ? null : (this.#facts.endpointUrls.get(record.serviceId) ?? null),
    );
  }

  /** Leaves out newcomers among the parties of an unsolicited escrow. They get its moves in their turn. */
  #toPresent(announcement: Announcement): Announcement {
    const { record, recipients, parties = [] } = announcement;
    if ("recordId" in record || !record.unsolicited) return announcement;
    const present = new Set(this.#facts.agentIds.values());
    const isPresent = (agentId: string | null) => agentId !== null && present.has(agentId);
    return { ...announcement, recipients: recipients.filter(isPresent), parties: parties.filter(isPresent) };
  }

  #change(record: TransactionRecord): void {
    this.#records.set(record._id, { ...record, updatedAt: this.#facts.now });
    this.#updated.add(record._id);
  }

  #keep(move: AppliedEventRecord): void {
    this.#applied.set(move._id, move);
    this.#changedMoves.add(move._id);
  }

  /** The checkout with exactly these terms, or else an unsolicited record. */
  #findOwnership(escrow: IndexedEscrow): Ownership {
    const own = this.#recordsOf(escrow.id);
    const match = own.find((record) => termDifferences(record, escrow).length === 0);
    if (match !== undefined) return { owner: match, losers: own.filter((record) => record !== match) };
    const record = unsolicitedRecord(escrow, {
      network: this.#facts.network,
      chainId: this.#facts.chainId,
      escrowContract: this.#facts.escrowContract,
      sellerAgentId: this.#facts.agentIds.get(escrow.seller) ?? null,
      buyerAgentId: this.#facts.agentIds.get(escrow.buyer) ?? null,
      now: this.#facts.now,
    });
    // The id was taken before, by an escrow that a reorganisation replaced with this one.
    const earlier = own.find(({ unsolicited }) => unsolicited);
    return {
      owner: earlier === undefined ? record : { ...record, _id: earlier._id },
      losers: own.filter(({ unsolicited }) => !unsolicited),
    };
  }

  /** Updates an escrow's records to the state after a move, and returns the one that the move belongs to. */
  #settleOwnership({ owner, losers }: Ownership, escrow: IndexedEscrow): TransactionRecord {
    for (const loser of losers) {
      if (loser.expiredBy !== "escrow_id_taken") this.#change(withChain(loser, escrow));
    }
    const stored = this.#records.get(owner._id);
    if (stored === undefined) this.#created.add(owner._id);
    else if (stored !== owner) this.#replaced.add(owner._id);
    this.#change(withChain(owner, escrow));
    return this.#records.get(owner._id) ?? owner;
  }

  #toPlace(event: IndexedEventWithEscrow) {
    return {
      epoch: this.#facts.epoch,
      ordinal: Number(event.ordinal),
      blockNumber: event.blockNumber,
      blockHash: event.blockHash,
      txHash: event.txHash,
      timestamp: event.timestamp,
    };
  }

  #applyFresh(event: IndexedEventWithEscrow, ownership: Ownership, incarnation: number): void {
    const record = this.#settleOwnership(ownership, escrowAfter(event.escrow, event.ordinal));
    this.#freshCount += 1;
    if (isSettling(event.type)) this.#settledWallets.add(event.buyer).add(event.seller);
    this.#keep({
      _id: moveId(this.#facts.network, event),
      network: this.#facts.network,
      escrowId: event.escrowId,
      type: event.type,
      transactionId: record._id,
      incarnation,
      live: true,
      ...this.#toPlace(event),
      parties: [event.buyer, event.seller],
      proofHash: event.proofHash,
      automatic: event.automatic,
      buyerAmount: event.buyerAmount?.toString() ?? null,
      outcome: event.outcome,
      buyerPercent: event.buyerPercent,
    });
    this.#announcements.push(
      ...announceMove(record, event, incarnation, this.#targets(record)).map((each) => this.#toPresent(each)),
    );
  }
}
