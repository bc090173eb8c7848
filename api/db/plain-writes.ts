import type { AnyBulkWriteOperation, Document } from "mongodb";
import type { ClientSession, Model } from "mongoose";

// Mongoose builds and validates an object for every document, which takes several times as long as the write itself.
// Where many complete records are written and their types are enough of a check, the driver writes them directly.

/** For a filter that has a shard key beside `_id`: without the hint, the planner tries that key's other indexes, too. */
export const BY_ID = { _id: 1 } as const;

/** Inserts records without validation by Mongoose. */
export async function insertPlain<T>(model: Model<T>, records: readonly T[], session: ClientSession): Promise<void> {
  if (records.length > 0) await model.collection.insertMany(records as never[], { session });
}

/**
 * Runs updates and replacements without validation by Mongoose, in any order. Each must affect a different document.
 */
export async function writePlain<T>(
  model: Model<T>,
  operations: readonly AnyBulkWriteOperation<T & Document>[],
  session?: ClientSession,
): Promise<void> {
  if (operations.length === 0) return;
  await model.collection.bulkWrite(operations as never[], { ordered: false, ...(session && { session }) });
}
