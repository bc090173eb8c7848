import type { z } from "zod";

import { presentModeration } from "../agents/moderation.ts";
import type { Listing } from "./listing.ts";
import type { listingOutput } from "./schemas.ts";

/**
 * A listing as an agent sees it. Only the seller sees the endpoint, and why an operator hides it. A buyer gets the address of an `api_response` service
 * after funding.
 */
export function presentListing(listing: Listing, viewerAgentId: string): z.input<typeof listingOutput> {
  const { price, endpointUrl, moderation, createdAt, updatedAt, ...rest } = listing;
  const ownFacts = {
    endpointUrl,
    ...(moderation === undefined ? {} : { moderation: presentModeration(moderation) }),
  };
  return {
    ...rest,
    price: Number(price),
    ...(listing.sellerAgentId === viewerAgentId ? ownFacts : {}),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
