import { createHash, randomUUID } from "node:crypto";

/** Prefixes of record ids: `agt_` an agent, `lst_` a listing, `txn_` a transaction, `req_` a request and so on. */
export type IdPrefix =
  | "agt"
  | "key"
  | "lst"
  | "txn"
  | "whk"
  | "dlv"
  | "req"
  | "adm"
  | "kya"
  | "evi"
  | "msg"
  | "mem"
  | "apr"
  | "ses"
  | "dec"
  | "rpt";

const RANDOM_DIGITS = 20;

/**
 * A new record id: prefix, 12 hex digits of the time in milliseconds, 20 random hex digits.
 * Ids of one kind therefore sort by creation time.
 * @example newId("agt", new Date()) // "agt_019aa5c0b3f1d2c4a9e07b5f6d812233"
 */
export function newId(prefix: IdPrefix, now: Date): string {
  return idOf(prefix, now, randomDigits());
}

/**
 * A record id that is always the same for one time and one seed. The seed must have random bits: it is all that keeps
 * others from guessing the id.
 */
export function derivedId(prefix: IdPrefix, at: Date, seed: string): string {
  return idOf(prefix, at, sha256Hex(`${prefix}|${seed}`).slice(0, RANDOM_DIGITS));
}

/**
 * Digits of a random UUID that neither its version nor its variant fixes. Node draws the random bytes of many UUIDs at once: one
 * draw for each id would be a twentieth of the cost of a small answer.
 */
function randomDigits(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(24, 32);
}

function idOf(prefix: IdPrefix, at: Date, random: string): string {
  return `${prefix}_${at.getTime().toString(16).padStart(12, "0")}${random}`;
}

/** SHA-256 of a string or of bytes, as lower-case hex without a prefix. */
export function sha256Hex(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
