import type { ClientSession, Connection } from "mongoose";
import type { Hex } from "viem";

import { withTransaction } from "../../db/connection.ts";
import type { IndexedEscrow, IndexedEventWithEscrow } from "../../indexer/schemas.ts";
import type { Network } from "../../config/constants.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import type { EndpointDirectory, WalletDirectory } from "../transactions/ports.ts";
import { termDifferences, withChain } from "../transactions/snapshot.ts";
import { announceMove, announceWithdrawal, targetsOf } from "../transactions/announce.ts";
import { eventId } from "../events/event-id.ts";
import type { AppliedEventRecord, CursorRecord, FollowerModels } from "./model.ts";
import { moveKey } from "./reconcile.ts";
import type { Reconciliation } from "./reconcile.ts";
import type { Announcement, EventRecorder } from "../events/recorder.ts";
import { unsolicitedRecord } from "../transactions/unsolicited.ts";

/** Another process has moved the cursor: what this one knows is old. */
export class CursorMovedError extends Error {
  override readonly name = "CursorMovedError";
}

/** One step of the follower: what changed, and where it stands after it. */
export interface Batch extends Pick<Reconciliation<IndexedEventWithEscrow>, "fresh" | "moved"> {
  /** Applied moves that are no longer on chain. */
  withdrawn: AppliedEventRecord[];
  /** The escrows of the withdrawn moves as they are now, by id; one that is gone is missing. */
  escrowsNow: ReadonlyMap<string, IndexedEscrow>;
  /** The cursor that the batch starts from; undefined before the first one. */
  cursor: CursorRecord | undefined;
  next: Pick<CursorRecord, "nextOrdinal" | "headNumber">;
}

/** What the applier works with. */
export interface ApplierOptions {
  network: Network;
  chainId: number;
  escrowContract: `0x${string}`;
  connection: Connection;
  transactions: TransactionModel;
  models: FollowerModels;
  recorder: EventRecorder;
  wallets: WalletDirectory;
  endpoints: EndpointDirectory;
  now: () => Date;
}

/** Facts of other features that a batch needs, read before its transaction. */
interface Directory {
  agentIds: Map<string, string>;
  endpointUrls: Map<string, string>;
}

/** What a database transaction of the applier gathers before it writes. */
interface Draft {
  records: Map<string, TransactionRecord>;
  created: Set<string>;
  /** Records whose very terms are new, and not only what the chain makes of them. */
  replaced: Set<string>;
  changed: Set<string>;
  /** Escrow ids that another escrow has than before. */
  retaken: Set<string>;
  applied: AppliedEventRecord[];
  announcements: Announcement[];
}

/** Whose an escrow is. */
interface Ownership {
  /** The record with these very terms; undefined when the escrow concerns no agent. */
  owner: TransactionRecord | undefined;
  /** Records with other terms, whose escrow id the escrow has taken (decision 16). */
  losers: TransactionRecord[];
}

/** Announcements that a withdrawn move may have made. */
const ANNOUNCED_BY: Readonly<Record<AppliedEventRecord["type"], readonly string[]>> = {
  EscrowCreated: ["escrow.funded"],
  DeliverySubmitted: ["service.delivered", "delivery.submitted"],
  EscrowReleased: ["escrow.released", "escrow.finalized"],
  EscrowRefunded: ["escrow.refunded"],
  EscrowAbandoned: ["escrow.abandoned"],
  DisputeOpened: [],
  EscrowResolved: [],
};

/**
 * Writes a batch: copies of transactions, events, deliveries, applied moves and the cursor, all in one database
 * transaction. Run again, or by two processes at once, it changes nothing more.
 */
export function createApplier(options: ApplierOptions) {
  const { network, models, transactions } = options;

  async function loadRecords(escrowIds: Hex[], session: ClientSession | null): Promise<TransactionRecord[]> {
    if (escrowIds.length === 0) return [];
    return transactions.find({ network, escrowId: { $in: escrowIds } }, null, { session }).lean<TransactionRecord[]>();
  }

  const escrowIdsOf = (batch: Batch): Hex[] => [
    ...new Set([
      ...[...batch.fresh, ...batch.moved].map(({ event }) => event.escrowId),
      ...batch.withdrawn.map((applied) => applied.escrowId),
    ]),
  ];

  async function readDirectory(batch: Batch): Promise<Directory> {
    const parties = [...batch.fresh, ...batch.moved].flatMap(({ event }) => [event.buyer, event.seller]);
    const records = await loadRecords(escrowIdsOf(batch), null);
    const serviceIds = records.flatMap((record) => (record.serviceId === null ? [] : [record.serviceId]));
    const [agentIds, endpointUrls] = await Promise.all([
      parties.length === 0 ? new Map<string, string>() : options.wallets.agentIdsByWallet([...new Set(parties)]),
      serviceIds.length === 0 ? new Map<string, string>() : options.endpoints.endpointUrls([...new Set(serviceIds)]),
    ]);
    return { agentIds, endpointUrls };
  }

  const recordsOf = (draft: Draft, escrowId: string) =>
    [...draft.records.values()].filter((record) => record.escrowId === escrowId);

  /** Whose an escrow is: the checkout's with these very terms, else an unsolicited one of its seller. */
  function ownershipOf(draft: Draft, escrow: IndexedEscrow, directory: Directory): Ownership {
    const own = recordsOf(draft, escrow.id);
    const match = own.find((record) => termDifferences(record, escrow).length === 0);
    if (match !== undefined) return { owner: match, losers: own.filter((record) => record !== match) };
    const sellerAgentId = directory.agentIds.get(escrow.seller);
    if (sellerAgentId === undefined) return { owner: undefined, losers: own };
    const record = unsolicitedRecord(escrow, {
      network,
      chainId: options.chainId,
      escrowContract: options.escrowContract,
      sellerAgentId,
      buyerAgentId: directory.agentIds.get(escrow.buyer) ?? null,
      now: options.now(),
    });
    // The id was taken once before, by an escrow that a reorganisation has replaced by this one.
    const earlier = own.find(({ unsolicited }) => unsolicited);
    return {
      owner: earlier === undefined ? record : { ...record, _id: earlier._id },
      losers: own.filter(({ unsolicited }) => !unsolicited),
    };
  }

  /** Puts the records of an escrow right and gives the one that its moves are kept with. */
  function settleOwnership(draft: Draft, { owner, losers }: Ownership, escrow: IndexedEscrow) {
    for (const loser of losers) {
      if (loser.expiredBy !== "escrow_id_taken") change(draft, withChain(loser, escrow));
    }
    if (owner === undefined) return losers[0];
    const stored = draft.records.get(owner._id);
    if (stored === undefined) draft.created.add(owner._id);
    else if (stored !== owner) draft.replaced.add(owner._id);
    const updated = withChain(owner, escrow);
    change(draft, updated);
    return updated;
  }

  function change(draft: Draft, record: TransactionRecord): void {
    draft.records.set(record._id, { ...record, updatedAt: options.now() });
    draft.changed.add(record._id);
  }

  const targets = (record: TransactionRecord, directory: Directory) =>
    targetsOf(record, record.serviceId === null ? null : (directory.endpointUrls.get(record.serviceId) ?? null));

  const position = (event: IndexedEventWithEscrow) => ({
    blockNumber: event.blockNumber,
    blockHash: event.blockHash,
    txHash: event.txHash,
    timestamp: event.timestamp,
  });

  function applyFresh(draft: Draft, { event, incarnation }: Batch["fresh"][number], directory: Directory): void {
    const ownership = ownershipOf(draft, event.escrow, directory);
    const record = settleOwnership(draft, ownership, event.escrow);
    if (record === undefined) return;
    const silent = ownership.owner === undefined;
    draft.applied.push({
      _id: `${network}:${moveKey(event)}`,
      network,
      escrowId: event.escrowId,
      type: event.type,
      transactionId: record._id,
      incarnation,
      silent,
      live: true,
      ...position(event),
    });
    if (!silent) draft.announcements.push(...announceMove(record, event, incarnation, targets(record, directory)));
  }

  /** A move that was mined again: the same one elsewhere, or that of another escrow which has taken the id since. */
  function applyMoved(draft: Draft, { event, applied }: Batch["moved"][number], directory: Directory): void {
    const ownership = ownershipOf(draft, event.escrow, directory);
    const stored = draft.records.get(applied.transactionId);
    const isSame = stored !== undefined && ownership.owner === (applied.silent ? undefined : stored);
    if (!isSame || draft.retaken.has(event.escrowId)) {
      draft.retaken.add(event.escrowId);
      const { incarnation } = applyWithdrawn(draft, applied, event.escrow, directory);
      applyFresh(draft, { event, incarnation }, directory);
      return;
    }
    draft.applied.push({ ...applied, ...position(event) });
    settleOwnership(draft, ownership, event.escrow);
  }

  /** @param escrow the escrow of the id as it is now */
  function applyWithdrawn(
    draft: Draft,
    applied: AppliedEventRecord,
    escrow: IndexedEscrow | undefined,
    directory: Directory,
  ): AppliedEventRecord {
    const incarnation = applied.silent ? applied.incarnation : applied.incarnation + 1;
    const withdrawn = { ...applied, live: false, incarnation };
    draft.applied.push(withdrawn);
    // Those, too, that had lost the id to an escrow which is gone.
    for (const record of recordsOf(draft, applied.escrowId)) change(draft, withChain(record, escrow));
    const record = draft.records.get(applied.transactionId);
    if (record === undefined || applied.silent) return withdrawn;
    const eventIds = ANNOUNCED_BY[applied.type].map((type) =>
      eventId({
        network,
        escrowContract: record.escrowContract,
        escrowId: record.unsolicited ? `${record.escrowId}:unsolicited` : record.escrowId,
        type,
        incarnation: applied.incarnation,
      }),
    );
    const fact = { type: applied.type, incarnation: applied.incarnation, eventIds };
    draft.announcements.push(announceWithdrawal(record, fact, targets(record, directory), options.now()));
    return withdrawn;
  }

  async function moveCursor(batch: Batch, session: ClientSession): Promise<void> {
    const fields = { ...batch.next, updatedAt: options.now() };
    if (batch.cursor === undefined) {
      // Two first batches at once run into this document's _id.
      await models.cursors.create([{ _id: network, ...fields, version: 0 }], { session });
      return;
    }
    const { version } = batch.cursor;
    const moved = await models.cursors.updateOne(
      { _id: network, version },
      { $set: { ...fields, version: version + 1 } },
      { session },
    );
    if (moved.matchedCount === 0) throw new CursorMovedError(`The cursor of ${network} is past version ${version}`);
  }

  async function write(draft: Draft, session: ClientSession): Promise<void> {
    const created = [...draft.created].flatMap((id) => draft.records.get(id) ?? []);
    if (created.length > 0) await transactions.insertMany(created, { session });
    const changed = [...draft.changed]
      .filter((id) => !draft.created.has(id))
      .flatMap((id) => draft.records.get(id) ?? []);
    if (changed.length > 0) {
      await transactions.bulkWrite(
        changed.map((record) => {
          const { _id, status, expiredBy, escrow, updatedAt } = record;
          return draft.replaced.has(_id)
            ? { replaceOne: { filter: { _id }, replacement: record } }
            : { updateOne: { filter: { _id }, update: { $set: { status, expiredBy, escrow, updatedAt } } } };
        }),
        { session },
      );
    }
    if (draft.applied.length > 0) {
      await models.applied.bulkWrite(
        draft.applied.map((record) => ({
          replaceOne: { filter: { _id: record._id }, replacement: record, upsert: true },
        })),
        { session },
      );
    }
    await options.recorder.record(draft.announcements, session);
  }

  return {
    /**
     * Applies a batch and moves the cursor. Throws CursorMovedError, or a duplicate key of the first cursor, when another
     * process was faster; nothing is written then.
     */
    async apply(batch: Batch): Promise<void> {
      const directory = await readDirectory(batch);
      await withTransaction(options.connection, async (session) => {
        await moveCursor(batch, session);
        const records = await loadRecords(escrowIdsOf(batch), session);
        const draft: Draft = {
          records: new Map(records.map((record) => [record._id, record])),
          created: new Set(),
          replaced: new Set(),
          changed: new Set(),
          retaken: new Set(),
          applied: [],
          announcements: [],
        };
        for (const applied of batch.withdrawn) {
          applyWithdrawn(draft, applied, batch.escrowsNow.get(applied.escrowId), directory);
        }
        for (const moved of batch.moved) applyMoved(draft, moved, directory);
        for (const fresh of batch.fresh) applyFresh(draft, fresh, directory);
        await write(draft, session);
      });
    },
  };
}
