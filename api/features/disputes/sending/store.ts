import type { ClientSession } from "mongoose";

import type { Network } from "../../../config/constants.ts";
import { isDuplicateKey } from "../../../db/connection.ts";
import type { ResolvedBy } from "../../../indexer/schemas.ts";
import { WAITING_STATES } from "./model.ts";
import type { Problem } from "./problems.ts";
import type { Ruling, RulingState, RulingTransactionModel, RulingTransactionRecord, SigningAttempt } from "./model.ts";

/** Rulings of one look. */
const BATCH = 50;

/** Fields that a write sets; undefined removes one. */
export type Change = Partial<Omit<RulingTransactionRecord, "_id" | "attempts" | "version">>;

/** A wallet on a network. */
export interface WalletOf {
  network: Network;
  from: `0x${string}`;
}

export type RulingStore = ReturnType<typeof createRulingStore>;

/** The records of rulings. Every write names the version that it was decided on, so that of two senders one writes. */
export function createRulingStore(model: RulingTransactionModel, now: () => Date) {
  /** Fields of a ruling that nothing has been signed for. */
  function fresh({ network, escrowId, role, outcome, buyerPercent, rationaleHash }: Ruling) {
    const at = now();
    return {
      ...{ network, role, outcome, buyerPercent, rationaleHash },
      escrowId: escrowId.toLowerCase() as `0x${string}`,
      ...({ state: "queued", problem: null, detail: null, since: at, queuedAt: at, dueAt: at } as const),
      failures: 0,
    };
  }

  const due = (network: Network, role: ResolvedBy, inFlight: boolean, limit: number) =>
    model
      .find({ network, role, inFlight, dueAt: { $lte: now() } })
      .sort({ dueAt: 1 })
      .limit(limit)
      .lean<RulingTransactionRecord[]>();

  return {
    /** @returns false if the dispute has a ruling */
    async insert(ruling: Ruling, session: ClientSession): Promise<boolean> {
      const initial = { ...fresh(ruling), version: 0, inFlight: false, attempts: [], reverts: 0 };
      const { upsertedCount } = await model.updateOne(
        { _id: ruling.disputeId },
        { $setOnInsert: initial },
        { upsert: true, session },
      );
      return upsertedCount === 1;
    },

    /** @returns false unless the dispute has a ruling by the system that can't be mined */
    async replace(ruling: Ruling, session: ClientSession): Promise<boolean> {
      const replaceable = {
        _id: ruling.disputeId,
        ...{
          network: ruling.network,
          escrowId: ruling.escrowId.toLowerCase() as `0x${string}`,
          role: "system" as const,
        },
        state: { $in: ["queued", "held"] as RulingState[] },
        inFlight: false,
      };
      const change = { $set: fresh(ruling), $inc: { version: 1 } };
      return (await model.updateOne(replaceable, change, { session })).matchedCount === 1;
    },

    findMany: (disputeIds: readonly string[]) =>
      model.find({ _id: { $in: [...disputeIds] } }).lean<RulingTransactionRecord[]>(),

    /** Transactions of a role that are in flight and due, in the order of their nonces. */
    async dueInFlight(network: Network, role: ResolvedBy): Promise<RulingTransactionRecord[]> {
      const found = await due(network, role, true, BATCH);
      return found.sort((a, b) => (a.nonce ?? 0) - (b.nonce ?? 0));
    },

    /** Rulings of a role that are due and have nothing in flight, the oldest first. */
    async dueToSend(network: Network, role: ResolvedBy, limit = BATCH): Promise<RulingTransactionRecord[]> {
      const found = await due(network, role, false, limit);
      return found.sort((a, b) => a.queuedAt.getTime() - b.queuedAt.getTime() || (a._id < b._id ? -1 : 1));
    },

    /** @returns the record as written, or undefined if another process has changed it */
    async write(
      { _id, version }: RulingTransactionRecord,
      change: Change,
    ): Promise<RulingTransactionRecord | undefined> {
      const entries = Object.entries(change) as [string, unknown][];
      const $set = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
      const $unset = Object.fromEntries(entries.filter(([, value]) => value === undefined).map(([name]) => [name, 1]));
      const written = await model
        .findOneAndUpdate({ _id, version }, { $set, $unset, $inc: { version: 1 } }, { returnDocument: "after" })
        .lean<RulingTransactionRecord | null>();
      return written ?? undefined;
    },

    /**
     * Stores a signed transaction and with it the nonce. Only the process whose call returns the record may send it.
     * @returns undefined if another process has changed the ruling, or `taken` if another ruling has the nonce
     */
    async addAttempt(
      { _id, version }: RulingTransactionRecord,
      attempt: SigningAttempt,
      change: Change,
    ): Promise<RulingTransactionRecord | "taken" | undefined> {
      const { from, nonce } = attempt;
      try {
        const written = await model
          .findOneAndUpdate(
            { _id, version },
            {
              $set: { ...change, from, nonce, inFlight: true },
              $unset: { sentAt: 1, sentAtBlock: 1 },
              $push: { attempts: attempt },
              $inc: { version: 1 },
            },
            { returnDocument: "after" },
          )
          .lean<RulingTransactionRecord | null>();
        return written ?? undefined;
      } catch (error) {
        if (isDuplicateKey(error, "nonce")) return "taken";
        throw error;
      }
    },

    /** The highest nonce of a wallet that was allocated; undefined if none was. */
    async highestNonce({ network, from }: WalletOf): Promise<number | undefined> {
      const found = await model
        .findOne({ network, from, nonce: { $exists: true } }, { nonce: 1 })
        .sort({ nonce: -1 })
        .lean<Pick<RulingTransactionRecord, "nonce"> | null>();
      return found?.nonce;
    },

    /** Transactions of a wallet that are signed and not mined. */
    countUnmined: ({ network, from }: WalletOf) =>
      model.countDocuments({ network, from, inFlight: true, state: { $ne: "mined" } }),

    /** Whether a ruling in flight has this nonce. */
    hasInFlight: async ({ network, from }: WalletOf, nonce: number) =>
      (await model.exists({ network, from, inFlight: true, nonce })) !== null,

    /** Whether a ruling in flight has a higher nonce, which can't be mined before this one is used. */
    hasInFlightAbove: async ({ network, from }: WalletOf, nonce: number) =>
      (await model.exists({ network, from, inFlight: true, nonce: { $gt: nonce } })) !== null,

    /** Rulings of a network that aren't on chain, by problem. */
    waiting: (network: Network) =>
      model.aggregate<{ _id: Problem | null; count: number; oldest: Date }>([
        { $match: { network, state: { $in: [...WAITING_STATES] } } },
        { $group: { _id: "$problem", count: { $sum: 1 }, oldest: { $min: "$queuedAt" } } },
      ]),
  };
}
