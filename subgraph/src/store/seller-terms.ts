import { Address, BigInt, ethereum } from "@graphprotocol/graph-ts";

import { SellerTerms, SellerTermsChange } from "../../generated/schema";
import { logId, ordinalOf } from "../ids";

/** Records what a seller asks of new escrows: USD with 6 decimals and seconds. */
export function setSellerTerms(
  seller: Address,
  minAmountUsd: BigInt,
  minDeliverySeconds: BigInt,
  paused: boolean,
  event: ethereum.Event,
): void {
  const terms = new SellerTerms(seller);
  terms.minAmountUsd = minAmountUsd;
  terms.minDeliverySeconds = minDeliverySeconds;
  terms.paused = paused;
  terms.updatedBlock = event.block.number;
  terms.save();
  const change = new SellerTermsChange(logId(event));
  change.ordinal = ordinalOf(event);
  change.terms = seller;
  change.minAmountUsd = minAmountUsd;
  change.minDeliverySeconds = minDeliverySeconds;
  change.paused = paused;
  change.blockNumber = event.block.number;
  change.timestamp = event.block.timestamp;
  change.txHash = event.transaction.hash;
  change.save();
}
