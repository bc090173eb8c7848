import { keccak256, stringToBytes } from "viem";
import { z } from "zod";

import { canonicalJson } from "../../lib/canonical-json.ts";
import type { Listing } from "../listings/listing.ts";

/** Criteria that a buyer may add to the terms: a JSON Schema for the result, and checks. */
export interface BuyerCriteria {
  schema?: Record<string, unknown> | undefined;
  checks?: string[] | undefined;
}

/** The terms that the parties agree on. Its hash goes on chain, and the resolver judges by it. */
export interface CriteriaDocument {
  serviceId: string;
  sellerAgentId: string;
  title: string;
  description: string;
  category: string;
  price: number;
  priceUnit: string;
  currency: string;
  quantity: number;
  requestPayload: Record<string, unknown> | null;
  criteria: BuyerCriteria | null;
}

/** The criteria document of a checkout. It has every field; those that the buyer left out are null. */
export function criteriaDocument(
  listing: Listing,
  order: {
    quantity: number;
    requestPayload?: Record<string, unknown> | undefined;
    criteria?: BuyerCriteria | undefined;
  },
): CriteriaDocument {
  return {
    serviceId: listing.id,
    sellerAgentId: listing.sellerAgentId,
    title: listing.title,
    description: listing.description,
    category: listing.category,
    // The number that the seller wrote: a price has no more digits than a JSON number keeps exactly.
    price: Number(listing.price),
    priceUnit: listing.priceUnit,
    currency: listing.currency,
    quantity: order.quantity,
    requestPayload: order.requestPayload ?? null,
    criteria: order.criteria ?? null,
  };
}

const object = z.record(z.string(), z.unknown());

/** Bounds of the checks of criteria. Each check in words is a question to a judge. */
export const CHECK_LIMITS = { checks: 50, length: 500 };

/** Schema of a criteria document that a party supplies for an escrow without a checkout. */
export const criteriaDocumentSchema: z.ZodType<CriteriaDocument> = z.strictObject({
  serviceId: z.string(),
  sellerAgentId: z.string(),
  title: z.string(),
  description: z.string(),
  category: z.string(),
  price: z.number(),
  priceUnit: z.string(),
  currency: z.string(),
  quantity: z.int().min(1),
  requestPayload: object.nullable(),
  criteria: z
    .strictObject({
      schema: object.optional(),
      checks: z.array(z.string().min(1).max(CHECK_LIMITS.length)).max(CHECK_LIMITS.checks).optional(),
    })
    .nullable(),
});

/** keccak256 of the RFC 8785 canonical JSON of a criteria document. */
export function hashCriteria(document: CriteriaDocument): `0x${string}` {
  return keccak256(stringToBytes(canonicalJson(document)));
}
