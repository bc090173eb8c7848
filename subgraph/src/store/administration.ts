import { Address, BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

import { AdministrationEvent } from "../../generated/schema";
import { logId, ordinalOf } from "../ids";
import { holderOrNull } from "./holders";

/** Adds a change to the log of a contract. The addresses are null where the event has none. */
export function recordChange(type: string, previous: Bytes | null, current: Bytes | null, event: ethereum.Event): void {
  newEntry(type, previous, current, event).save();
}

/** Adds a change of a version. */
export function recordVersion(version: BigInt, event: ethereum.Event): void {
  const entry = newEntry("Initialized", null, null, event);
  entry.version = version;
  entry.save();
}

/** Adds a change of a resolver role. */
export function recordRoleChange(
  type: string,
  role: string,
  previous: Bytes | null,
  current: Bytes | null,
  from: BigInt | null,
  event: ethereum.Event,
): void {
  const entry = newEntry(type, previous, current, event);
  entry.role = role;
  entry.from = from;
  entry.save();
}

/** Adds the listing of a token or a change of its valuation. */
export function recordListing(
  token: Address,
  feed: Address,
  maxPriceAge: BigInt,
  minAmount: BigInt,
  event: ethereum.Event,
): void {
  const entry = newEntry("TokenListed", null, token, event);
  entry.feed = feed;
  entry.maxPriceAge = maxPriceAge;
  entry.minAmount = minAmount;
  entry.save();
}

function newEntry(
  type: string,
  previous: Bytes | null,
  current: Bytes | null,
  event: ethereum.Event,
): AdministrationEvent {
  const entry = new AdministrationEvent(logId(event));
  entry.ordinal = ordinalOf(event);
  entry.type = type;
  entry.contract = event.address;
  entry.previous = holderOrNull(previous);
  entry.current = holderOrNull(current);
  entry.blockNumber = event.block.number;
  entry.timestamp = event.block.timestamp;
  entry.txHash = event.transaction.hash;
  return entry;
}
