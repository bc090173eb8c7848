import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import type { CallClass, RateClass } from "../../config/constants.ts";

/** An API key, stored as its hash. A revoked key is removed. */
export interface StoredKey {
  /** Key id, `key_…`. */
  id: string;
  /** SHA-256 of the key. */
  hash: string;
  createdAt: Date;
  /** When the key expires; null if it doesn't. */
  expiresAt: Date | null;
  suspendedUntil: Date | null;
  /** Times of the calls in the last window, by class, oldest first. */
  windows: Partial<Record<RateClass, Date[]>>;
  /** Times of the answers of 429 that count towards a suspension, oldest first. */
  refusals: Date[];
}

/** A call that has been admitted and not settled yet. */
export interface Reservation {
  id: string;
  type: CallClass;
  /** Midnight UTC of the day on which the call began: it counts for that day. */
  day: Date;
  /** When the reservation expires, in case its process has died. */
  until: Date;
  /** Whether it holds a prepaid call instead of one of the day's budget. */
  prepaid: boolean;
  /** Whether neither was left: the call is served only if it is paid for. Missing counts as false. */
  exhausted?: boolean;
}

/** The admission decision about an agent's latest call. */
export interface CallRecord {
  id: string;
  keyId: string;
  /**
   * `free`: admitted without a budget. `reserved`: admitted with a call of the day's budget. `prepaid`: with a prepaid call.
   * `exhausted`: admitted, but the budget has no call left. The rest are refusals.
   */
  outcome: "free" | "reserved" | "prepaid" | "exhausted" | "limited" | "ended" | "suspended";
  at: Date;
  /** Calls in the window, this one included if it was admitted. */
  counted: number;
  first: Date | null;
  last: Date | null;
  /** Calls of the day's budget without this one. */
  used: number;
  /** The day's budget. */
  limit: number;
  day: Date;
  suspendedUntil: Date | null;
}

/** An agent's keys, limits and budgets in one document, so that a call takes one round trip. */
export interface AccessRecord {
  /** Agent id. */
  _id: string;
  walletAddress: `0x${string}`;
  /** Lower-case form of the wallet. */
  walletKey: string;
  /** Copy of the testnet score, for the multiplier of the budgets, and the block at which it was read. */
  score: number;
  scoreBlock: number;
  keys: StoredKey[];
  /** Rises with every change that may end a key. Open streams watch it. */
  keysVersion: number;
  /** Midnight UTC of the day that `used` counts. */
  day: Date;
  /** Settled calls of the day that drew on its budget. */
  used: Record<CallClass, number>;
  /** Settled calls of the day that didn't draw on its budget: prepaid calls, and paid calls past the budget. */
  beyondBudget: number;
  /** Settled calls of the month's earlier days. */
  earlier: number;
  reservations: Reservation[];
  /** Prepaid calls. They never expire. */
  prepaid: Record<CallClass, number>;
  call: CallRecord | null;
}

/** The calls of a client address in a class. */
export interface ClientWindowRecord {
  /** `<class>:<address>`. */
  _id: string;
  /** Times of the calls in the last window, oldest first. */
  times: Date[];
  /** Whether the latest call was admitted, and when it came. */
  admitted: boolean;
  at: Date;
  /** MongoDB deletes the record after this. */
  expiresAt: Date;
}

/** The collections of admission. */
export interface AccessModels {
  access: Model<AccessRecord>;
  clientWindows: Model<ClientWindowRecord>;
}

const required = { required: true } as const;
const options = { versionKey: false, strict: "throw" } as const;

// Pipeline updates write these records. Mongoose doesn't check those, so the schema declares only the fields it needs.
const accessSchema = new Schema<AccessRecord>(
  {
    _id: { type: String, ...required },
    walletAddress: { type: String, ...required },
    walletKey: { type: String, ...required },
    keys: [{ type: Schema.Types.Mixed }],
  },
  { ...options, strict: false, collection: "agent_access" },
);
// Sparse, because an agent may have no key, and a missing key must not be taken twice.
accessSchema.index({ "keys.hash": 1 }, { unique: true, sparse: true });
accessSchema.index({ walletKey: 1 }, { unique: true });

const clientWindowSchema = new Schema<ClientWindowRecord>(
  {
    _id: { type: String, ...required },
    times: [Date],
    admitted: Boolean,
    at: Date,
    expiresAt: { type: Date, ...required },
  },
  { ...options, collection: "client_windows" },
);
clientWindowSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

/** The collections on a connection. */
export function accessModels(connection: Connection): AccessModels {
  return {
    access: connection.model<AccessRecord>("AgentAccess", accessSchema),
    clientWindows: connection.model<ClientWindowRecord>("ClientWindow", clientWindowSchema),
  };
}
