import { createHash, randomBytes } from "node:crypto";

/** Prefixes of record ids: `agt_` an agent, `lst_` a listing, `txn_` a transaction, `req_` a request and so on. */
export type IdPrefix = "agt" | "key" | "lst" | "txn" | "whk" | "dlv" | "req";

const RANDOM_BYTES = 10;

/**
 * A new record id: prefix, 12 hex digits of the time in milliseconds, 20 random hex digits.
 * Ids of one kind therefore sort by creation time.
 * @example newId("agt", new Date()) // "agt_019aa5c0b3f1d2c4a9e07b5f6d812233"
 */
export function newId(prefix: IdPrefix, now: Date): string {
  const time = now.getTime().toString(16).padStart(12, "0");
  return `${prefix}_${time}${randomBytes(RANDOM_BYTES).toString("hex")}`;
}

/** SHA-256 of a string or of bytes, as lower-case hex without a prefix. */
export function sha256Hex(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
