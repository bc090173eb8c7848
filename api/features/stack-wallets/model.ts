import type { Connection, Model } from "mongoose";

import { collection, date, oneOf, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** A wallet that was made for this local stack. Its key is never stored. */
const stackWalletFields = {
  /** Lower-case address. */
  _id: text,
  /** `stack`: this service made the key and showed it once. `program`: `init` or the town made it and listed it. */
  madeBy: oneOf(["stack", "program"]),
  createdAt: date,
};
export type StackWalletRecord = RecordOf<typeof stackWalletFields>;
export type StackWalletModel = Model<StackWalletRecord>;

/** The list of the stack's wallets. It is empty everywhere else. */
export const stackWalletModel = (connection: Connection): StackWalletModel =>
  collection(connection, "StackWallet", "stack_wallets", stackWalletFields);
