import type { Connection, Model } from "mongoose";

import { CALL_CLASSES } from "../../config/constants.ts";
import type { CallClass, RateClass } from "../../config/constants.ts";
import { collection, date, flag, listOf, mixed, nullable, number, oneOf, optional, part } from "../../db/records.ts";
import { text, textOf } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { SCOPES } from "../../http/scopes.ts";

/** An API key or the session of a page, stored as its hash. One that was revoked is removed. */
const keyFields = {
  /** Key id, `key_…`; of a session `ses_…`. */
  id: text,
  /** SHA-256 of the key, or of the session's id. */
  hash: text,
  createdAt: date,
  /** When the key expires; null if it doesn't. A session: when it ends unless it is used again. */
  expiresAt: nullable(date),
  suspendedUntil: nullable(date),
  /** Times of the calls in the last window, by class, oldest first. What has scopes counts in `sharedWindows`. */
  windows: mixed<Partial<Record<RateClass, Date[]>>>(),
  /** Times of the answers of 429 that count towards a suspension, oldest first. */
  refusals: listOf(date),
  /** What the key's mandate lets it do, or the session; missing for a key without a mandate. */
  scopes: optional(listOf(oneOf(SCOPES))),
  /** Of a session alone: SHA-256 of its token, and when it ends in any case. */
  session: optional(part({ tokenHash: text, endsAt: date })),
};
export type StoredKey = RecordOf<typeof keyFields>;

/** A call that has been admitted and not settled yet. */
const reservationFields = {
  id: text,
  type: oneOf(CALL_CLASSES),
  /** Midnight UTC of the day on which the call began: it counts for that day. */
  day: date,
  /** When the reservation expires, in case its process has died. */
  until: date,
  /** Whether it holds a prepaid call instead of one of the day's budget. */
  prepaid: flag,
  /** Whether neither was left: the call is served only if it is paid for. Missing counts as false. */
  exhausted: optional(flag),
};

/** The admission decision about an agent's latest call. */
const callFields = {
  id: text,
  keyId: text,
  /**
   * `free`: admitted without a budget. `reserved`: admitted with a call of the day's budget. `prepaid`: with a prepaid call.
   * `exhausted`: admitted, but the budget has no call left. The rest are refusals.
   */
  outcome: oneOf(["free", "reserved", "prepaid", "exhausted", "limited", "ended", "suspended"]),
  at: date,
  /** Calls in the window, this one included if it was admitted. */
  counted: number,
  first: nullable(date),
  last: nullable(date),
  /** Calls of the day's budget without this one. */
  used: number,
  /** The day's budget. */
  limit: number,
  day: date,
  suspendedUntil: nullable(date),
};
export type CallRecord = RecordOf<typeof callFields>;

/**
 * An agent's keys, limits and budgets in one document, so that a call takes one round trip. Pipeline updates write it, which
 * Mongoose doesn't check.
 */
const accessFields = {
  /** Agent id. */
  _id: text,
  walletAddress: textOf<`0x${string}`>(),
  /** Lower-case form of the wallet. */
  walletKey: text,
  /** Copy of the testnet score, for the multiplier of the budgets, and the block at which it was read. */
  score: number,
  scoreBlock: number,
  keys: listOf(part(keyFields)),
  /** Times of the calls of all keys with a mandate and all sessions: they share one window of each class, so that more keys allow no more calls. */
  sharedWindows: optional(mixed<Partial<Record<RateClass, Date[]>>>()),
  /** Rises with every change that may end a key. Open streams watch it. */
  keysVersion: number,
  /** Midnight UTC of the day that `used` counts. */
  day: date,
  /** Settled calls of the day that drew on its budget. */
  used: mixed<Record<CallClass, number>>(),
  /** Settled calls of the day that didn't draw on its budget: prepaid calls, and paid calls past the budget. */
  beyondBudget: number,
  /** Settled calls of the month's earlier days. */
  earlier: number,
  reservations: listOf(part(reservationFields)),
  /** Prepaid calls. They never expire. */
  prepaid: mixed<Record<CallClass, number>>(),
  call: nullable(part(callFields)),
};
export type AccessRecord = RecordOf<typeof accessFields>;

/** The calls of a client address in a class. */
const clientWindowFields = {
  /** `<class>:<address>`. */
  _id: text,
  /** Times of the calls in the last window, oldest first. */
  times: listOf(date),
  /** Whether the latest call was admitted, and when it came. */
  admitted: flag,
  at: date,
  /** MongoDB deletes the record after this. */
  expiresAt: date,
};
export type ClientWindowRecord = RecordOf<typeof clientWindowFields>;

/** The collections of admission. */
export interface AccessModels {
  access: Model<AccessRecord>;
  clientWindows: Model<ClientWindowRecord>;
}

/** The collections on a connection. */
export function accessModels(connection: Connection): AccessModels {
  return {
    access: collection(connection, "AgentAccess", "agent_access", accessFields, [
      // Sparse, because an agent may have no key, and a missing key must not be taken twice.
      [{ "keys.hash": 1 }, { unique: true, sparse: true }],
      [{ walletKey: 1 }, { unique: true }],
    ]),
    clientWindows: collection(connection, "ClientWindow", "client_windows", clientWindowFields, [
      [{ expiresAt: 1 }, { expireAfterSeconds: 0 }],
    ]),
  };
}
