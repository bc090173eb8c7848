import type { Connection, Model } from "mongoose";

import { KYA_LEVELS } from "../../config/constants.ts";
import { collection, date, nullable, oneOf, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";

/** The cause of a level: a mail (level 1), a payment method (level 2) or an admin (any level). */
export const KYA_CAUSES = ["email", "payment_method", "admin"] as const;

/** Kinds of verification by an admin for level 3. */
export const KYA_VERIFICATIONS = ["codebase", "identity"] as const;
export type KyaVerification = (typeof KYA_VERIFICATIONS)[number];

/** One decision about an agent's level. Entries are never changed or deleted. */
const changeFields = {
  /** Entry id, `kya_…`. */
  _id: text,
  agentId: text,
  from: oneOf(KYA_LEVELS),
  /** The same as `from` if the agent had this level or a higher one already. */
  to: oneOf(KYA_LEVELS),
  cause: oneOf(KYA_CAUSES),
  /** The verified address, the linked token (`<network>:<address>`), or the admin's reason. */
  reason: text,
  verification: nullable(oneOf(KYA_VERIFICATIONS)),
  /** The request that caused it, which the audit of the admin key names too. */
  requestId: text,
  at: date,
};
export type KyaChangeRecord = RecordOf<typeof changeFields>;

/** The collections of the KYA feature. The level itself is on the agent's record. */
export interface KyaModels {
  changes: Model<KyaChangeRecord>;
}

/** Declares the collections on a connection. */
export function createKyaModels(connection: Connection): KyaModels {
  return {
    changes: collection(connection, "KyaChange", "kya_changes", changeFields, [[{ agentId: 1, _id: -1 }]]),
  };
}
