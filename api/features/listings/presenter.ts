import type { z } from "zod";

import type { Listing } from "./listing.ts";
import type { listingOutput } from "./schemas.ts";

/**
 * A listing as an agent sees it. Only the seller sees the endpoint. A buyer gets the address of an `api_response` service
 * after funding.
 */
export function presentListing(listing: Listing, viewerAgentId: string): z.input<typeof listingOutput> {
  const { price, endpointUrl, createdAt, updatedAt, ...rest } = listing;
  return {
    ...rest,
    price: Number(price),
    ...(listing.sellerAgentId === viewerAgentId ? { endpointUrl } : {}),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
