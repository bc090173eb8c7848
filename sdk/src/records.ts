import type { Hex } from "viem";

import type * as wire from "./generated/api-types.ts";

/** Fields with token amounts in the smallest units: decimal strings in JSON, `bigint` here. */
const AMOUNT_FIELDS = [
  "amount",
  "lockedAmount",
  "platformFee",
  "refundableAmount",
  "buyerAmount",
  "sellerAmount",
] as const;

type AmountField = (typeof AMOUNT_FIELDS)[number];

/** Fields with addresses and hashes: 0x and hexadecimal digits. */
type HexField =
  | "address"
  | "buyerAddress"
  | "sellerAddress"
  | "tokenAddress"
  | "token"
  | "escrow"
  | "score"
  | "resolver"
  | "escrowContract"
  | "escrowId"
  | "criteriaHash"
  | "deliveryProof"
  | "proofHash"
  | "fundTxHash"
  | "publicKey"
  | "to"
  | "data";

/** A record from the API with `bigint` amounts and typed addresses and hashes. */
export type Parsed<Wire> = {
  [Key in keyof Wire]: Key extends AmountField
    ? bigint | Extract<Wire[Key], null>
    : Key extends HexField
      ? Hex | Extract<Wire[Key], null>
      : Wire[Key];
};

/** Converts the amounts of a record to `bigint`. Its other fields stay as they are. */
export function parseRecord<Wire extends object>(record: Wire): Parsed<Wire> {
  const parsed = { ...record } as Record<string, unknown>;
  for (const field of AMOUNT_FIELDS) {
    const amount = parsed[field];
    if (typeof amount === "string") parsed[field] = BigInt(amount);
  }
  return parsed as Parsed<Wire>;
}

/** A network where deals settle. */
export type Network = wire.Network;
/** A listing. `price` is in units of `currency` per `priceUnit`. */
export type Listing = wire.Service;
/** A listing as it was just written, and why nobody can buy it as it is. */
export interface WrittenListing extends Listing {
  warnings: wire.ListingWarning[];
}
/** A listing of a list. A search with `q` and `explain: "true"` says how it came to its place. */
export type FoundListing = wire.ListedService;
/** How a search came to the place of a listing: the score, the parts that it is made of, and both in words. */
export type SearchExplanation = wire.SearchExplanation;
/** How discover finds a listing of the agent, and what would help. */
export type Visibility = wire.Visibility;
/** A result of discover. With `explain`, it has an explanation of its place. */
export type DiscoverResult = wire.DiscoverResult;
/** A transaction. Amounts are in token units. */
export type Transaction = Parsed<wire.Transaction>;
/** Status of a transaction. */
export type TransactionStatus = Transaction["status"];
/** Something the caller may do next with a transaction. */
export type Action = Parsed<wire.TransactionWithActions["actions"][number]>;
/** A transaction and what the caller may do next. */
export type TransactionWithActions = Omit<Parsed<wire.TransactionWithActions>, "actions"> & { actions: Action[] };
/** An entry in the seller queue. `lockedAmount` is in token units. */
export type Job = Parsed<wire.Job>;
/** An entry in the event log. `payload` is the body of its webhook, with amounts as decimal strings. */
export type LoggedEvent = wire.EventRecord;
/** One webhook to the caller with its attempts. */
export type WebhookDelivery = wire.WebhookDelivery;

/** Converts a transaction and its actions. */
export function parseTransaction(record: wire.TransactionWithActions): TransactionWithActions {
  return { ...parseRecord(record), actions: record.actions.map(parseRecord) };
}
