import type { ClientSession, Connection } from "mongoose";

import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { insertPlain, writePlain } from "../../db/plain-writes.ts";
import { ESCROW_EVENT_TYPES, isReadable } from "../../indexer/schemas.ts";
import type { IndexedEscrow, IndexedEventWithEscrow, ReadEvent } from "../../indexer/schemas.ts";
import type { Network } from "../../config/constants.ts";
import { createMandateLedger } from "../mandates/ledger.ts";
import type { MandateLedger } from "../mandates/ledger.ts";
import type { TransactionModel, TransactionRecord } from "../transactions/model.ts";
import type { DisputeFollower, EndpointDirectory, WalletDirectory } from "../transactions/ports.ts";
import { followMandates } from "../transactions/expiry.ts";
import { termDifferences } from "../transactions/snapshot.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { announcedIds, ChangeSet } from "./change-set.ts";
import type { Changes } from "./change-set.ts";
import { moveId, quarantineId } from "./model.ts";
import type { AppliedEventRecord, CursorRecord, FollowerModels, NewcomerRecord } from "./model.ts";
import { newcomerId, requeue, adoptEarlierEscrows } from "./late-registration.ts";
import { CursorMovedError, retryAfter, storedError, UnreadableMoveError } from "./quarantine.ts";

/** The position of the cursor after a write. */
export type CursorPosition = Pick<CursorRecord, "anchor" | "headNumber" | "height" | "epoch" | "forkOrdinal">;

/** The cursor before and after a write; `cursor` is undefined before the first one. */
export interface CursorStep {
  cursor: CursorRecord | undefined;
  next: CursorPosition;
}

/** The result of a write. */
export interface Applied extends Pick<Changes, "freshCount" | "withdrawnCount" | "settledWallets"> {
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
  run: (changeSet: ChangeSet, quarantined: ReadonlySet<string>, applied: readonly AppliedEventRecord[]) => void;
  /** Written in the same transaction. */
  also?: (session: ClientSession) => Promise<unknown>;
}

/**
 * Writes what moves change: copies of transactions, events, dispatches, applied moves and the cursor, all in one
 * database transaction that succeeds for only one process. If another process was faster, every method throws
 * CursorMovedError and writes nothing.
 */
export class Applier {
  readonly #deps: ApplierOptions;
  readonly #ledger: MandateLedger;

  constructor(deps: ApplierOptions) {
    this.#deps = deps;
    this.#ledger = createMandateLedger(deps.connection);
  }

  /** Moves the cursor and nothing else. */
  async pass(step: CursorStep): Promise<CursorRecord> {
    return this.#moveCursor(step, null);
  }

  /** Moves the cursor back to a fork, and newcomers too, because moves above it may come in another order. */
  async rewind(step: CursorStep): Promise<CursorRecord> {
    const fork = step.next.anchor?.ordinal ?? -1;
    return withTransaction(this.#deps.connection, async (session) => {
      const cursor = await this.#moveCursor(step, session);
      await this.#deps.models.newcomers.updateMany(
        { network: this.#deps.network, after: { $gt: fork } },
        { $set: { after: fork } },
        { session },
      );
      return cursor;
    });
  }

  /**
   * Applies moves in chain order, except those of escrows in quarantine, which are read again when it ends.
   * @throws UnreadableMoveError, or any other error that a move causes
   */
  async apply(step: CursorStep, events: readonly ReadEvent[]): Promise<Applied> {
    const isReconciling = step.next.forkOrdinal !== null;
    const readable = events.filter(isReadable);
    return this.#commit(step, {
      escrowIds: events.map(({ escrowId }) => escrowId),
      ...(isReconciling ? {} : { moveIds: readable.map((event) => moveId(this.#deps.network, event)) }),
      escrows: readable.map(({ escrow }) => escrow),
      withdraws: isReconciling,
      run(changeSet, quarantined) {
        const open = events.filter(({ escrowId }) => !quarantined.has(escrowId));
        for (const event of open) if (!isReadable(event)) throw new UnreadableMoveError(event.problem);
        const moves = open.filter(isReadable);
        if (isReconciling) {
          // Before anything new of an escrow, withdraw its moves that the new branch lacks.
          const escrows = new Map(moves.map(({ escrow }) => [escrow.id, escrow]));
          for (const [escrowId, escrow] of escrows) changeSet.withdrawMissing(escrowId, escrow);
        }
        for (const event of moves) changeSet.read(event);
      },
    });
  }

  /** Withdraws moves that the new branch lacks. Those of escrows in quarantine are compared when it ends. */
  async withdraw(step: CursorStep, missing: readonly AppliedEventRecord[]): Promise<Applied> {
    return this.#commit(step, {
      escrowIds: missing.map(({ escrowId }) => escrowId),
      escrows: [],
      withdraws: true,
      run(changeSet, quarantined) {
        for (const move of missing) {
          if (quarantined.has(move.escrowId)) changeSet.confirm(move);
          else changeSet.withdraw(move);
        }
      },
    });
  }

  /**
   * Gives a newcomer its next moves in chain order, with the transactions that they belong to. Deletes the newcomer
   * record once it has them all; after that it is an ordinary agent.
   * @returns the cursor, and whether there may be more
   */
  async adopt(step: CursorStep, newcomer: NewcomerRecord): Promise<{ cursor: CursorRecord; hasMore: boolean }> {
    return withTransaction(this.#deps.connection, async (session) => {
      const cursor = await this.#moveCursor(step, session);
      const hasMore = await adoptEarlierEscrows(
        { ...this.#deps, newcomer, readTo: step.next.anchor?.ordinal ?? -1 },
        session,
      );
      return { cursor, hasMore };
    });
  }

  /** Puts an escrow into quarantine and moves the cursor past the move that failed. */
  async quarantine(step: CursorStep, escrowId: string, error: unknown): Promise<CursorRecord> {
    const now = this.#deps.now();
    return withTransaction(this.#deps.connection, async (session) => {
      const cursor = await this.#moveCursor(step, session);
      await this.#deps.models.quarantine.updateOne(
        { _id: this.#heldId(escrowId) },
        {
          $set: { error: storedError(error), attempts: 1, retryAt: retryAfter(1, now) },
          $setOnInsert: { network: this.#deps.network, escrowId, createdAt: now },
        },
        { session, upsert: true },
      );
      return cursor;
    });
  }

  /**
   * Ends an escrow's quarantine: applies all its moves on chain, withdraws those that aren't on chain any more, and
   * writes its state again.
   */
  async release(step: CursorStep, escrowId: string, escrow: IndexedEscrow | undefined): Promise<Applied> {
    return this.#commit(step, {
      escrowIds: [escrowId],
      escrows: escrow === undefined ? [] : [escrow],
      withdraws: true,
      run(changeSet) {
        changeSet.withdrawMissing(escrowId, escrow);
        const moves = escrow?.events.map((event): IndexedEventWithEscrow => ({ ...event, escrow })) ?? [];
        for (const move of moves) changeSet.read(move);
        changeSet.restate(escrowId, escrow);
      },
      also: async (session) => {
        if (escrow !== undefined) await requeue(this.#deps.models, this.#deps.network, escrow, session);
        await this.#deps.models.quarantine.deleteOne({ _id: this.#heldId(escrowId) }, { session });
      },
    });
  }

  #heldId(escrowId: string): string {
    return quarantineId(this.#deps.network, escrowId);
  }

  async #moveCursor({ cursor, next }: CursorStep, session: ClientSession | null): Promise<CursorRecord> {
    const fields = { ...next, updatedAt: this.#deps.now() };
    const moved: CursorRecord = {
      _id: this.#deps.network,
      ...fields,
      version: cursor === undefined ? 0 : cursor.version + 1,
    };
    if (cursor === undefined) {
      try {
        await this.#deps.models.cursors.create([moved], { session });
      } catch (error) {
        if (isDuplicateKey(error))
          throw new CursorMovedError(`${this.#deps.network} already has a cursor`, { cause: error });
        throw error;
      }
      return moved;
    }
    const { version } = cursor;
    const found = await this.#deps.models.cursors
      .updateOne({ _id: this.#deps.network, version }, { $set: { ...fields, version: moved.version } })
      .session(session);
    if (found.matchedCount === 0)
      throw new CursorMovedError(`The cursor of ${this.#deps.network} is past version ${version}`);
    return moved;
  }

  /**
   * Agents by wallet for escrows without a checkout, excluding newcomers. Read in the transaction, so a wallet that
   * registers after it gets the escrows as a newcomer.
   */
  async #readAgentIds(
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
    const agentIds = await this.#deps.wallets.agentIdsByWallet([...new Set(wallets)], session);
    const newcomerIds = [...agentIds.keys()].map((wallet) => newcomerId(this.#deps.network, wallet));
    const newcomers = await this.#deps.models.newcomers
      .find({ _id: { $in: newcomerIds } }, { wallet: 1 }, { session })
      .lean();
    for (const { wallet } of newcomers) agentIds.delete(wallet);
    return agentIds;
  }

  async #load(work: Work, epoch: number, session: ClientSession) {
    const escrowIds = [...new Set(work.escrowIds)];
    const moveIds =
      work.moveIds ??
      escrowIds.flatMap((escrowId) => ESCROW_EVENT_TYPES.map((type) => moveId(this.#deps.network, { escrowId, type })));
    const records = await this.#deps.transactions
      .find({ network: this.#deps.network, escrowId: { $in: escrowIds as `0x${string}`[] } }, null, { session })
      .lean();
    const applied = await this.#deps.models.applied.find({ _id: { $in: moveIds } }, null, { session }).lean();
    const held = await this.#deps.models.quarantine
      .find({ _id: { $in: escrowIds.map((escrowId) => this.#heldId(escrowId)) } }, { escrowId: 1 }, { session })
      .lean();
    const serviceIds = [...new Set(records.flatMap(({ serviceId }) => serviceId ?? []))];
    const agentIds = await this.#readAgentIds(work.escrows, records, session);
    const endpointUrls = serviceIds.length === 0 ? new Map() : await this.#deps.endpoints.endpointUrls(serviceIds);
    const byId = new Map(records.map((record) => [record._id, record]));
    const candidates = applied.flatMap((move) => {
      const record = byId.get(move.transactionId);
      if (!work.withdraws || !move.live || record === undefined) return [];
      const recipients = [record.buyerAgentId, record.sellerAgentId];
      return announcedIds(move, record).map((eventId) => ({ eventId, recipients }));
    });
    const announced = await this.#deps.recorder.recorded(candidates, session);
    const { chainId, escrowContract } = this.#deps;
    const changeSet = new ChangeSet({
      network: this.#deps.network,
      chainId,
      escrowContract,
      epoch,
      now: this.#deps.now(),
      records,
      applied,
      agentIds,
      endpointUrls,
      announced,
    });
    return { changeSet, applied, quarantined: new Set<string>(held.map(({ escrowId }) => escrowId)) };
  }

  async #write(changes: Changes, session: ClientSession): Promise<void> {
    const { created, replaced, updated, applied } = changes;
    await insertPlain(this.#deps.transactions, created, session);
    await writePlain(
      this.#deps.transactions,
      [
        ...replaced.map((record) => ({ replaceOne: { filter: { _id: record._id }, replacement: record } })),
        ...updated.map(({ _id, status, expiredBy, escrow, buyerNotifiedAt, updatedAt }) => {
          // A delivery that was left to its parties is gone, so another one isn't left to them yet.
          const isPast = buyerNotifiedAt !== undefined && buyerNotifiedAt !== escrow?.deliveredAt;
          const update = {
            $set: { status, expiredBy, escrow, updatedAt },
            ...(isPast ? { $unset: { buyerNotifiedAt: "" } } : {}),
          };
          return { updateOne: { filter: { _id }, update } };
        }),
      ],
      session,
    );
    const { transactions, now } = this.#deps;
    const states = [...created, ...replaced, ...updated];
    await followMandates({ transactions, ledger: this.#ledger, now: now() }, states, session);
    await insertPlain(this.#deps.models.applied, applied.first, session);
    await writePlain(
      this.#deps.models.applied,
      applied.changed.map((move) => ({ replaceOne: { filter: { _id: move._id }, replacement: move } })),
      session,
    );
    const withdrawn = applied.changed.filter(({ type, live }) => type === "DisputeOpened" && !live);
    await this.#deps.disputes.follow(
      states,
      withdrawn.map(({ transactionId }) => transactionId),
      session,
    );
    await this.#deps.recorder.record(changes.announcements, session);
  }

  async #commit(step: CursorStep, work: Work): Promise<Applied> {
    return withTransaction(this.#deps.connection, async (session) => {
      const cursor = await this.#moveCursor(step, session);
      const { changeSet, applied, quarantined } = await this.#load(work, step.next.epoch, session);
      work.run(changeSet, quarantined, applied);
      const changes = changeSet.changes();
      await this.#write(changes, session);
      await work.also?.(session);
      const { freshCount, withdrawnCount, settledWallets } = changes;
      return { cursor, freshCount, withdrawnCount, settledWallets };
    });
  }
}
