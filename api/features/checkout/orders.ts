import type { ClientSession, Connection, Model } from "mongoose";

import { collection, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** The last deal of an order. Each new deal writes it, so of two at the same time one sees the other. */
const fields = {
  /** Hash of buyer, service and request payload. */
  _id: text,
  transactionId: text,
};
type OrderRecord = RecordOf<typeof fields>;

/** The collection of orders. */
export function orderModel(connection: Connection): Model<OrderRecord> {
  return collection(connection, "Order", "orders", fields);
}

/** Makes this deal the last one of its order. Another transaction that does the same conflicts with this one. */
export async function takeTurn(
  orders: Model<OrderRecord>,
  orderHash: string,
  transactionId: string,
  session: ClientSession,
): Promise<void> {
  await orders.updateOne({ _id: orderHash }, { $set: { transactionId } }, { upsert: true, session });
}
