import type { Connection, Model } from "mongoose";

import { collection, date, nullable, number, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** One use of the admin key. Entries are never deleted. */
const adminUseFields = {
  /** Entry id, `adm_…`. */
  _id: text,
  requestId: text,
  method: text,
  path: text,
  ip: text,
  at: date,
  /** HTTP status of the answer. Null while the call runs, and after one that ended without a known answer. */
  status: nullable(number),
};

export type AdminUseModel = Model<RecordOf<typeof adminUseFields>>;

/** The audit of the admin key. */
export function adminUseModel(connection: Connection): AdminUseModel {
  return collection(connection, "AdminUse", "admin_uses", adminUseFields);
}
