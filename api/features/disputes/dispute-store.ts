import type { AnyBulkWriteOperation, Document } from "mongodb";
import type { ClientSession } from "mongoose";

import { byChainClock } from "../../chain/chain-time.ts";
import type { Network } from "../../config/constants.ts";
import { writePlain } from "../../db/plain-writes.ts";
import { disputeIdOf } from "../transactions/dispute-id.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import type { Side } from "./judging/case.ts";
import type { DisputeModel, DisputeRecord } from "./model.ts";

/** Settings and collaborators of the store. */
export interface DisputeStoreOptions {
  disputes: DisputeModel;
  evidenceSeconds: number;
  now: () => Date;
}

/** The parts of a transaction that a dispute is made from. */
type Disputed = Pick<TransactionRecord, "_id" | "network" | "escrowId" | "status">;

type Operation = AnyBulkWriteOperation<DisputeRecord & Document>;

const MILLISECONDS = 1_000;
const MAX_COUNTED = 1_000;
/** How long a party that has submitted evidence, and hasn't marked it complete, may take for its next item. */
const NEXT_ITEM_MS = 60_000;
/** When a party is done: when it said so, or a pause after its last item; null while it hasn't spoken. An expression. */
const doneAt = (side: Side) => ({
  $ifNull: [`$complete.${side}`, { $add: [{ $max: `$evidence.${side}.submittedAt` }, NEXT_ITEM_MS] }],
});
const bothDone = { $and: [{ $ne: [doneAt("buyer"), null] }, { $ne: [doneAt("seller"), null] }] };

/** Fields that the chain doesn't change. */
const KEPT = [
  ...(["reason", "evidence", "complete", "criteriaJson", "offers"] as const),
  ...(["ruling", "attempts", "lastError", "createdAt"] as const),
];

/**
 * When the ruling of an open dispute is due: when both parties have submitted evidence or marked theirs complete, and at the
 * end of the evidence period at the latest. It is an expression, so it uses the record as it is when it is written.
 */
export const RULING_DUE_AT = {
  $cond: [
    { $and: ["$isOpen", { $eq: ["$ruling", null] }] },
    {
      $cond: [
        bothDone,
        { $min: [{ $max: [doneAt("buyer"), doneAt("seller")] }, "$evidenceEndsAt"] },
        "$evidenceEndsAt",
      ],
    },
    null,
  ],
};

/** Keeps the records of disputes as they are on chain. */
export class DisputeStore {
  readonly #deps: DisputeStoreOptions;

  constructor(deps: DisputeStoreOptions) {
    this.#deps = deps;
  }

  /**
   * Follows the chain, in the follower's transaction.
   * @param records transactions whose state has changed
   * @param withdrawn ids of transactions whose dispute a reorganisation has removed
   */
  async follow(
    records: readonly TransactionRecord[],
    withdrawn: readonly string[],
    session: ClientSession,
  ): Promise<void> {
    const removed = new Set(withdrawn);
    const operations = records.flatMap((record): Operation[] => {
      const disputedAt = record.escrow?.disputedAt ?? null;
      if (disputedAt !== null) return [this.#upsert(record, disputedAt)];
      if (!removed.has(record._id)) return [];
      const update = { $set: { disputedAt: null, isOpen: false, dueAt: null, updatedAt: this.#deps.now() } };
      return [{ updateOne: { filter: { _id: disputeIdOf(record) }, update } }];
    });
    await writePlain(this.#deps.disputes, operations, session);
  }

  /**
   * Creates the record of a dispute that the subgraph shows, perhaps before the follower has seen it. A known record stays
   * as it is: this reading may be older.
   */
  async open(record: Disputed, disputedAt: number): Promise<DisputeRecord> {
    const _id = disputeIdOf(record);
    const known = await this.#deps.disputes.findById(_id).lean();
    if (known !== null) return known;
    await writePlain(this.#deps.disputes, [this.#opening(record, disputedAt)]);
    const opened = await this.#deps.disputes.findById(_id).lean();
    if (opened === null) throw new Error(`Dispute ${_id} vanished while it was being opened`);
    return opened;
  }

  /**
   * Disputes of a network whose ruling is overdue: not on chain `graceSeconds` after the evidence period.
   * @param chainNow by the chain's clock, which ends the period, in unix seconds
   */
  async overdue(
    network: Network,
    { graceSeconds, chainNow }: { graceSeconds: number; chainNow: number },
  ): Promise<{ count: number; oldestSeconds: number | null }> {
    const at = byChainClock(this.#deps.now(), chainNow).getTime();
    const bound = new Date(at - graceSeconds * MILLISECONDS);
    const filter = { network, isOpen: true, evidenceEndsAt: { $lt: bound } };
    const [count, oldest] = await Promise.all([
      this.#deps.disputes.countDocuments(filter, { limit: MAX_COUNTED }),
      this.#deps.disputes.findOne(filter, { evidenceEndsAt: 1 }).sort({ evidenceEndsAt: 1 }).lean(),
    ]);
    const ageMs = oldest === null ? null : at - oldest.evidenceEndsAt.getTime();
    return { count, oldestSeconds: ageMs === null ? null : Math.floor(ageMs / MILLISECONDS) };
  }

  /** The initial record of a dispute, without any submission. */
  #initialRecord(record: Disputed, disputedAt: number): DisputeRecord {
    const isOpen = record.status === "disputed";
    const at = this.#deps.now();
    const evidenceEndsAt = new Date((disputedAt + this.#deps.evidenceSeconds) * MILLISECONDS);
    return {
      _id: disputeIdOf(record),
      transactionId: record._id,
      network: record.network,
      escrowId: record.escrowId,
      disputedAt,
      isOpen,
      evidenceEndsAt,
      dueAt: isOpen ? evidenceEndsAt : null,
      reason: null,
      evidence: { buyer: [], seller: [] },
      complete: { buyer: null, seller: null },
      criteriaJson: null,
      offers: { buyer: null, seller: null },
      closedAt: null,
      ruling: null,
      attempts: 0,
      lastError: null,
      createdAt: at,
      updatedAt: at,
    };
  }

  /** Creates the record of a dispute or brings it up to date. The parties' submissions stay. */
  #upsert(record: Disputed, disputedAt: number): Operation {
    const initial = this.#initialRecord(record, disputedAt);
    const { _id, transactionId, network, escrowId, isOpen, evidenceEndsAt, updatedAt } = initial;
    const isSame = { $eq: ["$disputedAt", disputedAt] };
    const isRuled = { $ne: [{ $ifNull: ["$ruling", null] }, null] };
    const kept = Object.fromEntries(KEPT.map((field) => [field, { $ifNull: [`$${field}`, initial[field]] }]));
    return {
      updateOne: {
        filter: { _id },
        update: [
          {
            $set: {
              transactionId,
              network,
              escrowId,
              disputedAt,
              isOpen,
              updatedAt,
              ...kept,
              // A period that has begun keeps its length. A dispute that was opened again begins another.
              evidenceEndsAt: { $cond: [isSame, "$evidenceEndsAt", evidenceEndsAt] },
              closedAt: { $cond: [{ $or: [isSame, isRuled] }, { $ifNull: ["$closedAt", null] }, null] },
            },
          },
          { $set: { dueAt: RULING_DUE_AT } },
        ],
        upsert: true,
      },
    };
  }

  /** Creates the record of a dispute unless it exists. */
  #opening(record: Disputed, disputedAt: number): Operation {
    const { _id, ...fields } = this.#initialRecord(record, disputedAt);
    return { updateOne: { filter: { _id }, update: { $setOnInsert: fields }, upsert: true } };
  }
}
