import BigNumber from "bignumber.js";
import { z } from "zod";

import type { ChainClient } from "../../chain/chain-client.ts";
import type { EtherPrice } from "../../chain/ether-price.ts";
import { ESCROW_TOKEN_OF } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { maxJobValueUsdOf } from "../agents/score.ts";
import type { Standings } from "../agents/standings.ts";
import type { Listing } from "./listing.ts";

/** Reasons why no buyer, or not every buyer, can buy a listing. */
export const LISTING_WARNING_CODES = ["currency_not_settleable", "above_seller_cap", "callback_required"] as const;

/** A reason why buyers can't buy a listing. The listing is created anyway. */
export const listingWarning = z
  .object({ code: z.enum(LISTING_WARNING_CODES), text: z.string().meta({ description: "For people" }) })
  .meta({
    id: "ListingWarning",
    examples: [{ code: "callback_required", text: "A checkout must give a callbackUrl." }],
  });
export type ListingWarning = z.output<typeof listingWarning>;

/** Finds a listing's warnings. Never throws; omits warnings whose facts can't be read in time. */
export type ListingWarnings = (listing: Listing) => Promise<ListingWarning[]>;

/** Dependencies of the warnings. */
export interface ListingWarningsDeps {
  chains: Readonly<Record<Network, Pick<ChainClient, "token" | "scoreOf">>>;
  standings: Pick<Standings, "of">;
  etherPrice: EtherPrice;
  /** Timeout of each fact, in milliseconds. The listing is already stored, and its seller waits for the answer. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 2_000;

/** Creates the warnings of listings, one for each error that checkout would return. */
export function createListingWarnings(deps: ListingWarningsDeps): ListingWarnings {
  const { chains, standings, etherPrice, timeoutMs = TIMEOUT_MS } = deps;
  const inTime = async <T>(what: string, read: () => Promise<T>): Promise<T | undefined> =>
    withTimeout(what, timeoutMs, read).catch(() => undefined);

  function isSettleable({ currency, network }: Listing): boolean {
    const token = ESCROW_TOKEN_OF[currency];
    return token !== undefined && chains[network].token(token) !== undefined;
  }

  /** The score that sets the cap: the contract's, or its copy while the chain is unavailable. */
  async function readScore({ network, sellerAddress }: Listing): Promise<number | undefined> {
    const onChain = await inTime("The seller's score", () => chains[network].scoreOf(sellerAddress));
    if (onChain !== undefined) return Number(onChain);
    const copies = await inTime("The copy of the seller's score", () => standings.of(network, [sellerAddress]));
    return copies?.get(sellerAddress.toLowerCase())?.score;
  }

  async function readValueUsd({ price, currency }: Listing): Promise<BigNumber | undefined> {
    if (currency !== "ETH") return new BigNumber(price);
    const usd = await inTime("The price of ether", etherPrice);
    return usd?.times(price);
  }

  async function capWarning(listing: Listing): Promise<ListingWarning | undefined> {
    const [score, valueUsd] = await Promise.all([readScore(listing), readValueUsd(listing)]);
    if (score === undefined || valueUsd === undefined) return undefined;
    const cap = maxJobValueUsdOf(score);
    if (cap === null || valueUsd.lte(cap)) return undefined;
    const value = valueUsd.decimalPlaces(6, BigNumber.ROUND_UP).toFixed();
    const text =
      `One unit costs $${value}, and a score of ${score} on ${listing.network} allows jobs of up to $${cap}: checkouts ` +
      "are refused with job_value_cap_exceeded until the price falls or the seller's score rises.";
    return { code: "above_seller_cap", text };
  }

  return async (listing) => {
    const warnings: ListingWarning[] = [];
    if (!isSettleable(listing)) {
      const text =
        `${listing.currency} has no escrow token on ${listing.network}: checkouts are refused with ` +
        "currency_not_settleable. USDC and USD settle on both networks.";
      warnings.push({ code: "currency_not_settleable", text });
    } else {
      const warning = await capWarning(listing);
      if (warning !== undefined) warnings.push(warning);
    }
    if (listing.callbackRequired) {
      const text =
        "Checkouts without a callbackUrl are refused with callback_url_required, and callbackRequired is true unless it " +
        "is set to false. Buyers without a web server can't buy this service.";
      warnings.push({ code: "callback_required", text });
    }
    return warnings;
  };
}
