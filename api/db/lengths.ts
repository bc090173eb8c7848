import type { ClientSession, Model } from "mongoose";

import { writePlain } from "./plain-writes.ts";

/** The length of a numbered log, by the log's id. */
export interface LengthRecord {
  _id: string;
  length: number;
}

/**
 * Extends logs by so many entries each, and returns the previous length of each; a new log is missing. Each log's record
 * is written even if nothing is added, so two transactions that extend the same log can't both commit. The order is the
 * same everywhere, so they conflict at the first log that they share.
 */
export async function extendLengths(
  model: Model<LengthRecord>,
  added: ReadonlyMap<string, number>,
  session: ClientSession,
): Promise<Map<string, number>> {
  const ids = [...added.keys()].sort();
  const stored = await model.find({ _id: { $in: ids } }, null, { session }).lean();
  await writePlain(
    model,
    ids.map((_id) => ({
      updateOne: { filter: { _id }, update: { $inc: { length: added.get(_id) ?? 0 } }, upsert: true },
    })),
    session,
  );
  return new Map(stored.map(({ _id, length }) => [_id, length]));
}
