import type { AnyBulkWriteOperation, Document } from "mongodb";
import type { ClientSession, Model } from "mongoose";

// Mongoose builds and validates an object for every document that it writes, which takes several times as long as the
// write itself. Where many records are written whole, and their types say what they are, the driver writes them.

/** Inserts records as they are. */
export async function insertPlain<T>(model: Model<T>, records: readonly T[], session: ClientSession): Promise<void> {
  if (records.length > 0) await model.collection.insertMany(records as never[], { session });
}

/** Runs updates and replacements as they are, in any order: each has to concern another document. */
export async function writePlain<T>(
  model: Model<T>,
  operations: readonly AnyBulkWriteOperation<T & Document>[],
  session: ClientSession,
): Promise<void> {
  if (operations.length > 0) await model.collection.bulkWrite(operations as never[], { session, ordered: false });
}
