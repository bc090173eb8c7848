import type { Connection, Model } from "mongoose";

import { collection, date, mixed, number, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** Where a change stream begins: behind a change, or at a time of the database. */
export interface IndexPosition {
  token?: unknown;
  operationTime?: unknown;
}

/** Which table holds an index, and up to where its writer has followed the changes. */
const stateFields = {
  /** Name of the index. */
  _id: text,
  /** The table that answers searches. */
  table: text,
  /** Version of its format. */
  format: number,
  /** The encoder that made its vectors. */
  model: text,
  /** Where the change stream continues. */
  resume: mixed<IndexPosition>(),
  /** How many vectors the index of the vectors was made from, 0 without one. */
  indexedVectors: number,
  /** When the writer last was up to date with the changes. */
  followedAt: date,
};
export type IndexState = RecordOf<typeof stateFields>;
export type IndexStateModel = Model<IndexState>;

/** The collection of index states, a document for each index. */
export function indexStateModel(connection: Connection): IndexStateModel {
  return collection(connection, "SearchIndex", "searchindexes", stateFields);
}
