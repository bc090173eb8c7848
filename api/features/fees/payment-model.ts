import { Schema } from "mongoose";
import type { Connection } from "mongoose";

import { SENDING_PROBLEMS } from "../../chain/sending/problems.ts";
import { addSendingIndexes, sendingFields } from "../../chain/sending/record.ts";
import type { SendingModel, SendingRecord } from "../../chain/sending/record.ts";

/** The token refuses the transfer. */
export const TRANSFER_REFUSED = "transfer_refused";

/** The payment of one statement, whose id it has. Final is paid. */
export interface PaymentRecord extends SendingRecord {
  /** `2026-10` */
  month: string;
  token: `0x${string}`;
  to: `0x${string}`;
  /** Token units. */
  amount: string;
}

export type PaymentModel = SendingModel<PaymentRecord>;

const text = { type: String, required: true } as const;

const schema = new Schema<PaymentRecord>(
  { ...sendingFields([...SENDING_PROBLEMS, TRANSFER_REFUSED]), month: text, token: text, to: text, amount: text },
  { collection: "rebate_payments", versionKey: false, strict: "throw" },
);
addSendingIndexes(schema);

/** Declares the collection of the payments. */
export function paymentModel(connection: Connection): PaymentModel {
  return connection.model<PaymentRecord>("RebatePayment", schema);
}
