import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

/** Where a change stream begins: behind a change, or at a time of the database. */
export interface IndexPosition {
  token?: unknown;
  operationTime?: unknown;
}

/** Which table holds an index, and up to where its writer has followed the changes. */
export interface IndexState {
  /** Name of the index. */
  _id: string;
  /** The table that answers searches. */
  table: string;
  /** Version of its format. */
  format: number;
  /** The encoder that made its vectors. */
  model: string;
  /** Where the change stream continues. */
  resume: IndexPosition;
  /** How many vectors the index of the vectors was made from, 0 without one. */
  indexedVectors: number;
  /** When the writer last was up to date with the changes. */
  followedAt: Date;
}

export type IndexStateModel = Model<IndexState>;

const required = { required: true } as const;
const indexState = new Schema<IndexState>(
  {
    _id: { type: String, ...required },
    table: { type: String, ...required },
    format: { type: Number, ...required },
    model: { type: String, ...required },
    resume: { type: Schema.Types.Mixed, ...required },
    indexedVectors: { type: Number, ...required },
    followedAt: { type: Date, ...required },
  },
  { versionKey: false, strict: "throw", collection: "searchindexes" },
);

/** The collection of index states, a document for each index. */
export function indexStateModel(connection: Connection): IndexStateModel {
  return connection.model<IndexState>("SearchIndex", indexState);
}
