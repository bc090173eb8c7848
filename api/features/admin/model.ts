import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

/** One use of the admin key. Entries are never deleted. */
export interface AdminUseRecord {
  /** Entry id, `adm_…`. */
  _id: string;
  requestId: string;
  method: string;
  path: string;
  ip: string;
  at: Date;
  /** HTTP status of the answer. Null while the call runs, and after one that ended without a known answer. */
  status: number | null;
}

export type AdminUseModel = Model<AdminUseRecord>;

const text = { type: String, required: true } as const;

const adminUse = new Schema<AdminUseRecord>(
  {
    _id: text,
    requestId: text,
    method: text,
    path: text,
    ip: text,
    at: { type: Date, required: true },
    status: { type: Number, default: null },
  },
  { collection: "admin_uses", versionKey: false, strict: "throw" },
);

/** The audit of the admin key. */
export function adminUseModel(connection: Connection): AdminUseModel {
  return connection.model<AdminUseRecord>("AdminUse", adminUse);
}
