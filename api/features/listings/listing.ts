import BigNumber from "bignumber.js";

import type { Currency, Network } from "../../config/constants.ts";
import type { Moderation } from "../agents/moderation.ts";
import type { DeliveryType, ListingRecord, PriceUnit, ServiceStatus } from "./model.ts";

/** A listing as other features see it. */
export interface Listing {
  id: string;
  sellerAgentId: string;
  sellerAddress: `0x${string}`;
  title: string;
  description: string;
  category: string;
  /** Exact decimal in units of `currency`, for example `0.1`. */
  price: string;
  priceUnit: PriceUnit;
  currency: Currency;
  deliveryType: DeliveryType;
  callbackRequired: boolean;
  endpointUrl: string | null;
  network: Network;
  status: ServiceStatus;
  /** The operator's decision that hides it: one about the listing, else one about its seller. Only its seller reads it. */
  moderation?: Moderation;
  createdAt: Date;
  updatedAt: Date;
}

/** Converts a stored record to a listing. */
export function toListing(record: Omit<ListingRecord, "embedding">): Listing {
  const { _id: id, price, sellerAgentId, sellerAddress, title, description, category, priceUnit, currency } = record;
  const { deliveryType, callbackRequired, endpointUrl, network, status, createdAt, updatedAt } = record;
  const moderation = record.moderation ?? record.suspension;
  return {
    id,
    sellerAgentId,
    sellerAddress,
    title,
    description,
    category,
    priceUnit,
    currency,
    deliveryType,
    callbackRequired,
    endpointUrl,
    network,
    status,
    ...(moderation === undefined ? {} : { moderation }),
    createdAt,
    updatedAt,
    price: new BigNumber(price.toString()).toFixed(),
  };
}

/** The text that semantic search embeds: title, category in words, and description. */
export function searchTextOf(listing: Pick<Listing, "title" | "description" | "category">): string {
  return `${listing.title}. ${categoryWords(listing.category)}. ${listing.description}`;
}

/** A category slug as words. */
export function categoryWords(slug: string): string {
  return slug.replaceAll("_", " ");
}
