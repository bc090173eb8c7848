import type { Connection, Model } from "mongoose";

import { collection, date, mixed, optional, text } from "./records.ts";
import type { RecordOf } from "./records.ts";

/** An operation that has taken effect and left no record of its own, stored for repeats of its request. */
const doneFields = {
  /** `<agent id>|<operation id>` */
  _id: text,
  /** What a repeat answers, if the record that it would read is gone. */
  result: optional(mixed<unknown>()),
  /** MongoDB deletes the record after that. */
  expiresAt: date,
};
export type DoneOperationModel = Model<RecordOf<typeof doneFields>>;

/** The collection of operations that have taken effect. */
export function doneOperationModel(connection: Connection): DoneOperationModel {
  return collection(connection, "DoneOperation", "done_operations", doneFields, [
    [{ expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ]);
}
