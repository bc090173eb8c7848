import type { ClientSession, Connection } from "mongoose";

import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { insertPlain, writePlain } from "../../db/plain-writes.ts";
import { ESCROW_EVENT_TYPES, isReadable } from "../../indexer/schemas.ts";
import type { IndexedEscrow, IndexedEventWithEscrow, ReadEvent } from "../../indexer/schemas.ts";
import type { Network } from "../../config/constants.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import type { DisputeFollower, EndpointDirectory, WalletDirectory } from "../transactions/ports.ts";
import { termDifferences } from "../transactions/snapshot.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { announcedIds, createDraft, moveId } from "./draft.ts";
import type { Draft, DraftChanges } from "./draft.ts";
import { quarantineId } from "./model.ts";
import type { AppliedEventRecord, CursorRecord, FollowerModels, NewcomerRecord } from "./model.ts";
import { newcomerId, takeNewcomersBack, welcomeNewcomer } from "./newcomers.ts";
import { CursorMovedError, retryAfter, storedError, UnreadableMoveError } from "./quarantine.ts";

/** The position of the cursor after a write. */
export type CursorPosition = Pick<CursorRecord, "anchor" | "headNumber" | "height" | "epoch" | "forkOrdinal">;

/** The cursor before and after a write; `cursor` is undefined before the first one. */
export interface CursorStep {
  cursor: CursorRecord | undefined;
  next: CursorPosition;
}

/** The result of a write. */
export interface Applied extends Pick<DraftChanges, "freshCount" | "withdrawnCount" | "settledWallets"> {
  cursor: CursorRecord;
}

/** Dependencies of the applier. */
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
  disputes: DisputeFollower;
  now: () => Date;
}

/** The escrows and moves that one write loads and may change. */
interface Work {
  escrowIds: readonly string[];
  /** Ids of the applied moves to load; by default all moves of the escrows. */
  moveIds?: readonly string[];
  /** Escrows that may need an unsolicited record, whose wallets are therefore looked up. */
  escrows: readonly IndexedEscrow[];
  /** Whether moves may be withdrawn. */
  withdraws: boolean;
  run: (draft: Draft, quarantined: ReadonlySet<string>, applied: readonly AppliedEventRecord[]) => void;
  /** Written in the same transaction. */
  also?: (session: ClientSession) => Promise<unknown>;
}

/**
 * Writes what moves change: copies of transactions, events, dispatches, applied moves and the cursor, all in one
 * database transaction that succeeds for only one process. If another process was faster, every method throws
 * CursorMovedError and writes nothing.
 */
export function createApplier(options: ApplierOptions) {
  const { network, models, transactions } = options;
  const heldId = (escrowId: string) => quarantineId(network, escrowId);

  async function moveCursor({ cursor, next }: CursorStep, session: ClientSession): Promise<CursorRecord> {
    const fields = { ...next, updatedAt: options.now() };
    const moved: CursorRecord = { _id: network, ...fields, version: cursor === undefined ? 0 : cursor.version + 1 };
    if (cursor === undefined) {
      try {
        await models.cursors.create([moved], { session });
      } catch (error) {
        if (isDuplicateKey(error)) throw new CursorMovedError(`${network} already has a cursor`, { cause: error });
        throw error;
      }
      return moved;
    }
    const { version } = cursor;
    const found = await models.cursors.updateOne(
      { _id: network, version },
      { $set: { ...fields, version: moved.version } },
      { session },
    );
    if (found.matchedCount === 0) throw new CursorMovedError(`The cursor of ${network} is past version ${version}`);
    return moved;
  }

  /**
   * Agents by wallet for escrows without a checkout, excluding newcomers. Read in the transaction, so a wallet that
   * registers after it gets the escrows as a newcomer.
   */
  async function agentIdsOf(
    escrows: readonly IndexedEscrow[],
    records: readonly TransactionRecord[],
    session: ClientSession,
  ): Promise<Map<string, string>> {
    const checkouts = Map.groupBy(
      records.filter(({ unsolicited }) => !unsolicited),
      ({ escrowId }) => escrowId as string,
    );
    const isCheckout = (escrow: IndexedEscrow) =>
      checkouts.get(escrow.id)?.some((record) => termDifferences(record, escrow).length === 0) === true;
    const wallets = escrows.flatMap((escrow) => (isCheckout(escrow) ? [] : [escrow.buyer, escrow.seller]));
    if (wallets.length === 0) return new Map();
    const agentIds = await options.wallets.agentIdsByWallet([...new Set(wallets)], session);
    const newcomerIds = [...agentIds.keys()].map((wallet) => newcomerId(network, wallet));
    const newcomers = await models.newcomers.find({ _id: { $in: newcomerIds } }, { wallet: 1 }, { session }).lean();
    for (const { wallet } of newcomers) agentIds.delete(wallet);
    return agentIds;
  }

  async function loadDraft(work: Work, epoch: number, session: ClientSession) {
    const escrowIds = [...new Set(work.escrowIds)];
    const moveIds =
      work.moveIds ??
      escrowIds.flatMap((escrowId) => ESCROW_EVENT_TYPES.map((type) => moveId(network, { escrowId, type })));
    const records = await transactions
      .find({ network, escrowId: { $in: escrowIds as `0x${string}`[] } }, null, { session })
      .lean<TransactionRecord[]>();
    const applied = await models.applied
      .find({ _id: { $in: moveIds } }, null, { session })
      .lean<AppliedEventRecord[]>();
    const held = await models.quarantine
      .find({ _id: { $in: escrowIds.map(heldId) } }, { escrowId: 1 }, { session })
      .lean();
    const serviceIds = [...new Set(records.flatMap(({ serviceId }) => serviceId ?? []))];
    const agentIds = await agentIdsOf(work.escrows, records, session);
    const endpointUrls = serviceIds.length === 0 ? new Map() : await options.endpoints.endpointUrls(serviceIds);
    const byId = new Map(records.map((record) => [record._id, record]));
    const candidates = applied.flatMap((move) => {
      const record = byId.get(move.transactionId);
      if (!work.withdraws || !move.live || record === undefined) return [];
      const recipients = [record.buyerAgentId, record.sellerAgentId];
      return announcedIds(move, record).map((eventId) => ({ eventId, recipients }));
    });
    const announced = await options.recorder.recorded(candidates, session);
    const { chainId, escrowContract } = options;
    const draft = createDraft({
      network,
      chainId,
      escrowContract,
      epoch,
      now: options.now(),
      records,
      applied,
      agentIds,
      endpointUrls,
      announced,
    });
    return { draft, applied, quarantined: new Set<string>(held.map(({ escrowId }) => escrowId)) };
  }

  async function write(changes: DraftChanges, session: ClientSession): Promise<void> {
    const { created, replaced, updated, applied } = changes;
    await insertPlain(transactions, created, session);
    await writePlain(
      transactions,
      [
        ...replaced.map((record) => ({ replaceOne: { filter: { _id: record._id }, replacement: record } })),
        ...updated.map(({ _id, status, expiredBy, escrow, leftToBuyer, updatedAt }) => {
          // A delivery that was left to its parties is gone, so another one isn't left to them yet.
          const isPast = leftToBuyer !== undefined && leftToBuyer !== escrow?.deliveredAt;
          const update = {
            $set: { status, expiredBy, escrow, updatedAt },
            ...(isPast ? { $unset: { leftToBuyer: "" } } : {}),
          };
          return { updateOne: { filter: { _id }, update } };
        }),
      ],
      session,
    );
    await insertPlain(models.applied, applied.first, session);
    await writePlain(
      models.applied,
      applied.changed.map((move) => ({ replaceOne: { filter: { _id: move._id }, replacement: move } })),
      session,
    );
    const withdrawn = applied.changed.filter(({ type, live }) => type === "DisputeOpened" && !live);
    await options.disputes.follow(
      [...created, ...replaced, ...updated],
      withdrawn.map(({ transactionId }) => transactionId),
      session,
    );
    await options.recorder.record(changes.announcements, session);
  }

  async function commit(step: CursorStep, work: Work): Promise<Applied> {
    return withTransaction(options.connection, async (session) => {
      const cursor = await moveCursor(step, session);
      const { draft, applied, quarantined } = await loadDraft(work, step.next.epoch, session);
      work.run(draft, quarantined, applied);
      const changes = draft.changes();
      await write(changes, session);
      await work.also?.(session);
      const { freshCount, withdrawnCount, settledWallets } = changes;
      return { cursor, freshCount, withdrawnCount, settledWallets };
    });
  }

  return {
    /** Moves the cursor and nothing else. */
    async pass(step: CursorStep): Promise<CursorRecord> {
      return withTransaction(options.connection, (session) => moveCursor(step, session));
    },

    /** Moves the cursor back to a fork, and newcomers too, because moves above it may come in another order. */
    async rewind(step: CursorStep): Promise<CursorRecord> {
      const fork = step.next.anchor?.ordinal ?? -1;
      return withTransaction(options.connection, async (session) => {
        const cursor = await moveCursor(step, session);
        await models.newcomers.updateMany({ network, after: { $gt: fork } }, { $set: { after: fork } }, { session });
        return cursor;
      });
    },

    /**
     * Applies moves in chain order, except those of escrows in quarantine, which are read again when it ends.
     * @throws UnreadableMoveError, or any other error that a move causes
     */
    async apply(step: CursorStep, events: readonly ReadEvent[]): Promise<Applied> {
      const isReconciling = step.next.forkOrdinal !== null;
      const readable = events.filter(isReadable);
      return commit(step, {
        escrowIds: events.map(({ escrowId }) => escrowId),
        ...(isReconciling ? {} : { moveIds: readable.map((event) => moveId(network, event)) }),
        escrows: readable.map(({ escrow }) => escrow),
        withdraws: isReconciling,
        run(draft, quarantined) {
          const open = events.filter(({ escrowId }) => !quarantined.has(escrowId));
          for (const event of open) if (!isReadable(event)) throw new UnreadableMoveError(event.problem);
          const moves = open.filter(isReadable);
          if (isReconciling) {
            // Before anything new of an escrow, withdraw its moves that the new branch lacks.
            const escrows = new Map(moves.map(({ escrow }) => [escrow.id, escrow]));
            for (const [escrowId, escrow] of escrows) draft.withdrawMissing(escrowId, escrow);
          }
          for (const event of moves) draft.read(event);
        },
      });
    },

    /** Withdraws moves that the new branch lacks. Those of escrows in quarantine are compared when it ends. */
    async withdraw(step: CursorStep, missing: readonly AppliedEventRecord[]): Promise<Applied> {
      return commit(step, {
        escrowIds: missing.map(({ escrowId }) => escrowId),
        escrows: [],
        withdraws: true,
        run(draft, quarantined) {
          for (const move of missing) {
            if (quarantined.has(move.escrowId)) draft.confirm(move);
            else draft.withdraw(move);
          }
        },
      });
    },

    /**
     * Gives a newcomer its next moves in chain order, with the transactions that they belong to. Deletes the newcomer
     * record once it has them all; after that it is an ordinary agent.
     * @returns the cursor, and whether there may be more
     */
    async welcome(step: CursorStep, newcomer: NewcomerRecord): Promise<{ cursor: CursorRecord; hasMore: boolean }> {
      return withTransaction(options.connection, async (session) => {
        const cursor = await moveCursor(step, session);
        const hasMore = await welcomeNewcomer(
          { ...options, newcomer, readTo: step.next.anchor?.ordinal ?? -1 },
          session,
        );
        return { cursor, hasMore };
      });
    },

    /** Puts an escrow into quarantine and moves the cursor past the move that failed. */
    async quarantine(step: CursorStep, escrowId: string, error: unknown): Promise<CursorRecord> {
      const now = options.now();
      return withTransaction(options.connection, async (session) => {
        const cursor = await moveCursor(step, session);
        await models.quarantine.updateOne(
          { _id: heldId(escrowId) },
          {
            $set: { error: storedError(error), attempts: 1, retryAt: retryAfter(1, now) },
            $setOnInsert: { network, escrowId, createdAt: now },
          },
          { session, upsert: true },
        );
        return cursor;
      });
    },

    /**
     * Ends an escrow's quarantine: applies all its moves on chain, withdraws those that aren't on chain any more, and
     * writes its state again.
     */
    async release(step: CursorStep, escrowId: string, escrow: IndexedEscrow | undefined): Promise<Applied> {
      return commit(step, {
        escrowIds: [escrowId],
        escrows: escrow === undefined ? [] : [escrow],
        withdraws: true,
        run(draft) {
          draft.withdrawMissing(escrowId, escrow);
          const moves = escrow?.events.map((event): IndexedEventWithEscrow => ({ ...event, escrow })) ?? [];
          for (const move of moves) draft.read(move);
          draft.restate(escrowId, escrow);
        },
        async also(session) {
          if (escrow !== undefined) await takeNewcomersBack(models, network, escrow, session);
          await models.quarantine.deleteOne({ _id: heldId(escrowId) }, { session });
        },
      });
    },
  };
}

export type Applier = ReturnType<typeof createApplier>;
