import type { ClientSession, Connection, Model } from "mongoose";

import type { Network } from "../../config/constants.ts";
import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { isScheduled } from "../../db/leases.ts";
import { WAITING_STATES } from "./record.ts";
import type { SendingRecord, SigningAttempt } from "./record.ts";

/** Records of one look. */
const BATCH = 50;

/** Fields that a write sets; undefined removes one. */
export type Change = Partial<Omit<SendingRecord, "_id" | "attempts" | "version">>;

/** Further fields of a feature's records, with other records that change in the same transaction. */
export interface Extra {
  fields: Readonly<Record<string, unknown>>;
  /** An error of it undoes the write. */
  also: (session: ClientSession) => Promise<void>;
}

/** A wallet on a network. */
export interface WalletOf {
  network: Network;
  from: `0x${string}`;
}

/** Some of a network's records, with the values of indexed fields. */
export interface Lane {
  network: Network;
  filter: Readonly<Record<string, string>>;
}

/** The records of calls. Every write names the version that it was decided on, so that of two senders one writes. */
export class SendingStore<R extends SendingRecord> {
  readonly #connection: Connection;
  readonly #model: Model<SendingRecord>;
  readonly #now: () => Date;

  constructor({ connection, model, now }: { connection: Connection; model: Model<R>; now: () => Date }) {
    this.#connection = connection;
    // Mongoose can't type filters by a record that isn't known yet.
    this.#model = model as unknown as Model<SendingRecord>;
    this.#now = now;
  }

  /** Transactions that are in flight and due, in the order of their nonces. */
  async dueInFlight(lane: Lane): Promise<R[]> {
    const found = await this.#due(lane, true, BATCH);
    return found.sort((a, b) => (a.nonce ?? 0) - (b.nonce ?? 0));
  }

  /** Records that are due and have nothing in flight, the oldest first. */
  async dueToSend(lane: Lane, limit = BATCH): Promise<R[]> {
    const found = await this.#due(lane, false, limit);
    return found.sort((a, b) => a.queuedAt.getTime() - b.queuedAt.getTime() || (a._id < b._id ? -1 : 1));
  }

  /** When a network's next record is due; undefined while none waits for a time. */
  async nextDueAt(network: Network): Promise<Date | undefined> {
    const next = await this.#model
      .findOne({ network, ...isScheduled("dueAt") }, { dueAt: 1 })
      .sort({ dueAt: 1 })
      .lean<Pick<SendingRecord, "dueAt"> | null>();
    return next?.dueAt;
  }

  /** @returns the record as written, or undefined if another process has changed it */
  async write(record: SendingRecord, change: Change, extra?: Extra): Promise<R | undefined> {
    const entries = Object.entries({ ...change, ...extra?.fields }) as [string, unknown][];
    const $set = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
    const $unset = Object.fromEntries(entries.filter(([, value]) => value === undefined).map(([name]) => [name, 1]));
    return this.#update(record, { $set, $unset, $inc: { version: 1 } }, extra);
  }

  /**
   * Stores a signed transaction and with it the nonce. Only the process whose call returns the record may send it.
   * @returns undefined if another process has changed the record, or `taken` if another record has the nonce
   */
  async addAttempt(
    record: SendingRecord,
    attempt: SigningAttempt,
    change: Change,
    extra?: Extra,
  ): Promise<R | "taken" | undefined> {
    const { from, nonce } = attempt;
    const fields = {
      $set: { ...change, ...extra?.fields, from, nonce, inFlight: true },
      $unset: { sentAt: 1, sentAtBlock: 1 },
      $push: { attempts: attempt },
      $inc: { version: 1 },
    };
    try {
      return await this.#update(record, fields, extra);
    } catch (error) {
      if (isDuplicateKey(error, "nonce")) return "taken";
      throw error;
    }
  }

  /** The highest nonce of a wallet that was allocated; undefined if none was. */
  async highestNonce({ network, from }: WalletOf): Promise<number | undefined> {
    const found = await this.#model
      .findOne({ network, from, nonce: { $exists: true } }, { nonce: 1 })
      .sort({ nonce: -1 })
      .lean();
    return found?.nonce;
  }

  /** Transactions of a wallet that are signed and not mined. */
  async countUnmined({ network, from }: WalletOf): Promise<number> {
    return this.#model.countDocuments({ network, from, inFlight: true, state: { $ne: "mined" } });
  }

  /** Whether a record in flight has this nonce. */
  async hasInFlight({ network, from }: WalletOf, nonce: number): Promise<boolean> {
    return (await this.#model.exists({ network, from, inFlight: true, nonce })) !== null;
  }

  /** Whether a record in flight has a higher nonce, which can't be mined before this one is used. */
  async hasInFlightAbove({ network, from }: WalletOf, nonce: number): Promise<boolean> {
    return (await this.#model.exists({ network, from, inFlight: true, nonce: { $gt: nonce } })) !== null;
  }

  /** A network's records that aren't on chain, by what they wait for. For readiness and metrics. */
  async waiting(network: Network): Promise<Waiting> {
    const groups = await this.#model.aggregate<{ _id: string | null; count: number; oldest: Date }>([
      { $match: { network, state: { $in: [...WAITING_STATES] } } },
      { $group: { _id: "$problem", count: { $sum: 1 }, oldest: { $min: "$queuedAt" } } },
    ]);
    const waiting: Waiting = { count: 0, oldest: null, problems: {} };
    for (const { _id: problem, count, oldest } of groups) {
      waiting.count += count;
      if (waiting.oldest === null || oldest < waiting.oldest) waiting.oldest = oldest;
      if (problem !== null) waiting.problems[problem] = count;
    }
    return waiting;
  }

  #due({ network, filter }: Lane, inFlight: boolean, limit: number) {
    return this.#model
      .find({ network, ...filter, inFlight, dueAt: { $lte: this.#now() } })
      .sort({ dueAt: 1 })
      .limit(limit)
      .lean<R[]>();
  }

  async #update(
    { _id, version }: SendingRecord,
    change: Readonly<Record<string, unknown>>,
    extra: Extra | undefined,
  ): Promise<R | undefined> {
    const write = async (session?: ClientSession) =>
      (await this.#model
        .findOneAndUpdate({ _id, version }, change, {
          returnDocument: "after",
          ...(session === undefined ? {} : { session }),
        })
        .lean<R>()) ?? undefined;
    if (extra === undefined) return write();
    return withTransaction(this.#connection, async (session) => {
      const written = await write(session);
      if (written !== undefined) await extra.also(session);
      return written;
    });
  }
}

/** Calls of a network that aren't on chain. */
export interface Waiting {
  count: number;
  /** When the oldest was put; null if none waits. */
  oldest: Date | null;
  /** How many have each problem. */
  problems: Record<string, number>;
}
