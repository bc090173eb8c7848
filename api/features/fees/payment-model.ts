import type { Connection, Model } from "mongoose";

import { SENDING_PROBLEMS } from "../../chain/sending/problems.ts";
import { sendingFields, sendingIndexes } from "../../chain/sending/record.ts";
import { collection, text, textOf } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** The token refuses the transfer. */
export const TRANSFER_REFUSED = "transfer_refused";

const paymentFields = {
  ...sendingFields([...SENDING_PROBLEMS, TRANSFER_REFUSED]),
  /** `2026-10` */
  month: text,
  token: textOf<`0x${string}`>(),
  to: textOf<`0x${string}`>(),
  /** Token units. */
  amount: text,
};

/** The payment of one statement, whose id it has. Final is paid. */
export type PaymentRecord = RecordOf<typeof paymentFields>;
export type PaymentModel = Model<PaymentRecord>;

/** Declares the collection of the payments. */
export function paymentModel(connection: Connection): PaymentModel {
  return collection(connection, "RebatePayment", "rebate_payments", paymentFields, sendingIndexes());
}
