import type { ClientSession, Connection, Model } from "mongoose";

import { writePlain } from "./plain-writes.ts";
import { collection, number, text } from "./records.ts";
import type { RecordOf } from "./records.ts";

/** The length of a numbered log: an agent's events, or a transaction's audit trail. */
const lengthFields = {
  /** Id of the agent or transaction. */
  _id: text,
  length: number,
};
export type LengthModel = Model<RecordOf<typeof lengthFields>>;

/** The collection of lengths. */
export function lengthModel(connection: Connection): LengthModel {
  return collection(connection, "LogLength", "log_lengths", lengthFields);
}

/**
 * Extends logs by so many entries each, and returns the previous length of each; a new log is missing. Each log's record
 * is written even if nothing is added, so two transactions that extend the same log can't both commit. The order is the
 * same everywhere, so they conflict at the first log that they share.
 */
export async function extendLengths(
  model: LengthModel,
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
