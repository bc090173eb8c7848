import type { Connection, Model } from "mongoose";

import { isDuplicateKey } from "../../db/connection.ts";
import { fromNow, isTaken } from "../../db/leases.ts";
import { collection, date, listOf, nullable, part, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** The open streams of an agent, or of a session. */
const slotsFields = {
  /** Id of the agent or the session. */
  _id: text,
  /** Each stream, and when its slot is free unless its process renews it. */
  streams: listOf(part({ id: text, until: date })),
  /** MongoDB deletes the record after this. */
  expiresAt: nullable(date),
};
export type StreamSlotsRecord = RecordOf<typeof slotsFields>;
export type StreamSlotsModel = Model<StreamSlotsRecord>;

/** The collection of slots. */
export function streamSlotsModel(connection: Connection): StreamSlotsModel {
  return collection(connection, "EventStreamSlots", "event_stream_slots", slotsFields, [
    [{ expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ]);
}

/** Settings of the slots. */
export interface StreamSlotsOptions {
  slots: StreamSlotsModel;
  /** Streams that an agent may have at once. */
  perAgent: number;
  /** How long a slot stays taken without a renewal, in milliseconds. */
  leaseMs: number;
  now: () => Date;
}

/**
 * Leased slots for the streams of agents, counted by the database, so that the limit holds across processes. The slots of
 * a process that dies are free once their leases expire. One document an agent makes taking a slot atomic.
 */
export class StreamSlots {
  readonly #deps: StreamSlotsOptions;
  /** Streams that an agent may have at once. */
  readonly perAgent: number;
  readonly #until;
  readonly #expiry = { $set: { expiresAt: { $max: "$streams.until" } } };

  constructor(deps: StreamSlotsOptions) {
    this.#deps = deps;
    this.perAgent = deps.perAgent;
    this.#until = fromNow(deps.leaseMs);
  }

  /**
   * Takes a slot. Otherwise returns in how many milliseconds the next lease expires.
   * @param holder id of the agent or the session
   * @param most streams that it may have at once
   */
  async take(
    holder: string,
    streamId: string,
    most = this.perAgent,
  ): Promise<{ taken: true } | { taken: false; retryInMs: number }> {
    let record: StreamSlotsRecord;
    try {
      record = await this.#tryTake(holder, streamId, most);
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // Another process created the record at the same moment, so now it is there.
      record = await this.#tryTake(holder, streamId, most);
    }
    if (record.streams.some(({ id }) => id === streamId)) return { taken: true };
    const firstEnd = Math.min(...record.streams.map((stream) => stream.until.getTime()));
    return {
      taken: false,
      retryInMs: Math.min(this.#deps.leaseMs, Math.max(0, firstEnd - this.#deps.now().getTime())),
    };
  }

  /**
   * Renews leases in one batch.
   * @param open holder of each stream by stream id
   * @returns ids of the streams whose lease expired and whose slot may be another's
   */
  async renew(open: ReadonlyMap<string, string>): Promise<string[]> {
    if (open.size === 0) return [];
    const streamIds = [...open.keys()];
    const holders = [...new Set(open.values())];
    const renewed = {
      $cond: [{ $in: ["$$stream.id", streamIds] }, { $mergeObjects: ["$$stream", { until: this.#until }] }, "$$stream"],
    };
    await this.#deps.slots.updateMany(
      { _id: { $in: holders } },
      [{ $set: { streams: { $map: { input: "$streams", as: "stream", in: renewed } } } }, this.#expiry],
      { updatePipeline: true },
    );
    const found = await this.#deps.slots.find({ _id: { $in: holders } }, { streams: 1 }).lean();
    const held = new Set(found.flatMap(({ streams }) => streams.map(({ id }) => id)));
    return streamIds.filter((id) => !held.has(id));
  }

  async release(holder: string, streamId: string): Promise<void> {
    await this.#deps.slots.updateOne({ _id: holder }, { $pull: { streams: { id: streamId } } });
  }

  async #tryTake(holder: string, streamId: string, most: number): Promise<StreamSlotsRecord> {
    const stored = { $ifNull: ["$streams", []] };
    const held = { $filter: { input: stored, as: "stream", cond: isTaken("$stream.until") } };
    const added = { $concatArrays: ["$streams", [{ id: { $literal: streamId }, until: this.#until }]] };
    const record = await this.#deps.slots.findOneAndUpdate(
      { _id: holder },
      [
        { $set: { streams: held } },
        { $set: { streams: { $cond: [{ $lt: [{ $size: "$streams" }, most] }, added, "$streams"] } } },
        this.#expiry,
      ],
      { upsert: true, returnDocument: "after", lean: true, updatePipeline: true },
    );
    if (record === null) throw new Error("An upsert returned no record");
    return record;
  }
}
