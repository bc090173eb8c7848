import { z } from "zod";

import { CURRENCIES, DELIVERY_TYPES, PRICE_UNITS } from "../../config/constants.ts";
import { addressOutput, networkSchema } from "../../http/common-schemas.ts";
import { discoveryScoreOf } from "../agents/score.ts";
import type { Listing } from "../listings/listing.ts";

/** An active listing as anyone may see it. */
export const publicListing = z
  .object({
    id: z.string(),
    serviceId: z.string(),
    title: z.string(),
    description: z.string(),
    category: z.string(),
    price: z.number(),
    priceUnit: z.enum(PRICE_UNITS),
    currency: z.enum(CURRENCIES),
    network: networkSchema,
    deliveryType: z.enum(DELIVERY_TYPES),
    callbackRequired: z.boolean().meta({ description: "Whether a checkout must give a callbackUrl" }),
    sellerAgentId: z.string(),
    sellerAddress: addressOutput,
    discoveryScore: z.number().min(0).max(1).meta({ description: "The seller's, on the listing's network" }),
  })
  .meta({ id: "PublicListing" });

/**
 * An active listing as anyone may see it. The endpoint isn't named, so it can't get in.
 * @param onChainScore the seller's, on the listing's network
 */
export function presentPublicListing(listing: Listing, onChainScore: number): z.input<typeof publicListing> {
  return {
    id: listing.id,
    serviceId: listing.id,
    title: listing.title,
    description: listing.description,
    category: listing.category,
    price: Number(listing.price),
    priceUnit: listing.priceUnit,
    currency: listing.currency,
    network: listing.network,
    deliveryType: listing.deliveryType,
    callbackRequired: listing.callbackRequired,
    sellerAgentId: listing.sellerAgentId,
    sellerAddress: listing.sellerAddress,
    discoveryScore: discoveryScoreOf(onChainScore),
  };
}
