import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { KYA_LEVELS } from "../../config/constants.ts";
import type { KyaLevel } from "../../config/constants.ts";

/** The cause of a level: a mail (level 1), a payment method (level 2) or an admin (any level). */
export const KYA_CAUSES = ["email", "payment_method", "admin"] as const;
export type KyaCause = (typeof KYA_CAUSES)[number];

/** Kinds of verification by an admin for level 3. */
export const KYA_VERIFICATIONS = ["codebase", "identity"] as const;
export type KyaVerification = (typeof KYA_VERIFICATIONS)[number];

/** One decision about an agent's level. Entries are never changed or deleted. */
export interface KyaChangeRecord {
  /** Entry id, `kya_…`. */
  _id: string;
  agentId: string;
  from: KyaLevel;
  /** The same as `from` if the agent had this level or a higher one already. */
  to: KyaLevel;
  cause: KyaCause;
  /** The verified address, the linked token (`<network>:<address>`), or the admin's reason. */
  reason: string;
  verification: KyaVerification | null;
  /** The request that caused it, which the audit of the admin key names too. */
  requestId: string;
  at: Date;
}

/** A nonce of a signed statement. Each is accepted once. */
export interface StatementNonceRecord {
  /** `<lower-case wallet>:<nonce>`. */
  _id: string;
  /** When the statement itself expires. MongoDB deletes the record after that. */
  expiresAt: Date;
}

/** The collections of the KYA feature. The level itself is on the agent's record. */
export interface KyaModels {
  changes: Model<KyaChangeRecord>;
  nonces: Model<StatementNonceRecord>;
}

const text = { type: String, required: true } as const;
const level = { type: Number, enum: KYA_LEVELS, required: true } as const;
const options = { versionKey: false, strict: "throw" } as const;

/** Declares the collections on a connection. */
export function createKyaModels(connection: Connection): KyaModels {
  const change = new Schema<KyaChangeRecord>(
    {
      _id: text,
      agentId: text,
      from: level,
      to: level,
      cause: { type: String, enum: KYA_CAUSES, required: true },
      reason: text,
      verification: { type: String, enum: [...KYA_VERIFICATIONS, null], default: null },
      requestId: text,
      at: { type: Date, required: true },
    },
    { ...options, collection: "kya_changes" },
  );
  change.index({ agentId: 1, _id: -1 });

  const nonce = new Schema<StatementNonceRecord>(
    { _id: text, expiresAt: { type: Date, required: true } },
    { ...options, collection: "kya_nonces" },
  );
  nonce.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

  return {
    changes: connection.model<KyaChangeRecord>("KyaChange", change),
    nonces: connection.model<StatementNonceRecord>("StatementNonce", nonce),
  };
}
