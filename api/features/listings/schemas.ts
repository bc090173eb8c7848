import { z } from "zod";

import {
  CURRENCIES,
  DELIVERY_TYPES,
  DESCRIPTION_MAX_LENGTH,
  PRICE_UNITS,
  SERVICE_STATUSES,
  TITLE_MAX_LENGTH,
  WRITABLE_SERVICE_STATUSES,
} from "../../config/constants.ts";
import {
  addressOutput,
  intentIdSchema,
  networkSchema,
  timestampOutput,
  webUrlSchema,
} from "../../http/common-schemas.ts";
import { pageCursor, pageLimit, queryNumber } from "../../http/query-params.ts";
import { textSchema } from "../../http/text-schema.ts";
import { moderationOutput } from "../agents/moderation.ts";
import { CHILD_SLUGS } from "../categories/taxonomy.ts";
import { explanationOutput } from "./explanation.ts";
import { exactDecimal, MAX_PRICE, MIN_PRICE, priceFault } from "./price.ts";

const CATEGORY_FAULT = "Must be a child slug of the taxonomy (GET /api/v1/categories)";

/** Slug of a category that a listing can have. */
export const categorySchema = z
  .enum(CHILD_SLUGS as [string, ...string[]], { error: CATEGORY_FAULT })
  .meta({ id: "CategorySlug" });
const price = z.number().min(MIN_PRICE).max(MAX_PRICE).meta({
  description: "Price of one unit in `currency`; at most 6 decimal places in USDC and USD, 18 in ETH and POL",
});
const currency = z.enum(CURRENCIES);

const writableFields = {
  title: textSchema({ kind: "name", max: TITLE_MAX_LENGTH }),
  description: textSchema({ kind: "longText", max: DESCRIPTION_MAX_LENGTH }),
  category: categorySchema,
  price,
  priceUnit: z.enum(PRICE_UNITS),
  currency,
  deliveryType: z.enum(DELIVERY_TYPES),
  callbackRequired: z.boolean().meta({ description: "Whether a checkout must give a callbackUrl" }),
  endpointUrl: webUrlSchema.nullable().meta({ description: "Where the platform posts incoming jobs" }),
  network: networkSchema,
};

/** Body of POST /api/v1/services. */
export const createListingBody = z
  .strictObject({
    ...writableFields,
    currency: currency.default("USDC"),
    deliveryType: z.enum(DELIVERY_TYPES).default("webhook"),
    callbackRequired: writableFields.callbackRequired.default(true),
    endpointUrl: writableFields.endpointUrl.default(null),
    network: networkSchema.default("base-sepolia"),
    intentId: intentIdSchema.optional(),
  })
  .superRefine((body, context) => {
    const fault = priceFault(exactDecimal(body.price), body.currency);
    if (fault !== undefined) context.addIssue({ code: "custom", path: ["price"], message: fault });
  })
  .meta({
    id: "ServiceRequest",
    examples: [
      {
        title: "Token risk report",
        description: "Reads a token's contracts and writes a report on what could go wrong.",
        category: "risk_assessment",
        price: 2.5,
        priceUnit: "per_document",
        currency: "USDC",
        deliveryType: "webhook",
        callbackRequired: false,
        endpointUrl: "https://agent.example/jobs",
        network: "base-sepolia",
      },
    ],
  });

/** Body of PATCH /api/v1/services/{id}: any subset of the writable fields. */
export const patchListingBody = z
  .strictObject({ ...writableFields, status: z.enum(WRITABLE_SERVICE_STATUSES) })
  .partial()
  .refine((body) => Object.keys(body).length > 0, "Must have at least one field to change")
  .meta({ override: { minProperties: 1 } })
  .meta({ id: "ServiceChange", examples: [{ price: 3, status: "active" }] });

/** A listing in answers. */
export const listingOutput = z
  .object({
    id: z.string(),
    title: z.string(),
    description: z.string(),
    category: z.string(),
    price: z.number(),
    priceUnit: z.enum(PRICE_UNITS),
    currency,
    deliveryType: z.enum(DELIVERY_TYPES),
    callbackRequired: z.boolean(),
    endpointUrl: z.string().nullable().optional().meta({ description: "Shown only to the seller" }),
    network: networkSchema,
    status: z.enum(SERVICE_STATUSES),
    moderation: moderationOutput
      .optional()
      .meta({ description: "Shown only to the seller, while an operator hides the service" }),
    sellerAgentId: z.string(),
    sellerAddress: addressOutput,
    createdAt: timestampOutput,
    updatedAt: timestampOutput,
  })
  .meta({ id: "Service" });

/** A listing in a list or a search result. */
export const listedOutput = listingOutput
  .and(z.object({ explanation: explanationOutput.optional().meta({ description: "With `explain=true`" }) }))
  .meta({ id: "ListedService" });

/** Sort orders of a list. */
export const LISTING_SORTS = ["newest", "oldest", "price_asc", "price_desc", "relevance"] as const;
export type ListingSort = (typeof LISTING_SORTS)[number];

/** Maximum length of a search query in characters. */
export const QUERY_MAX_LENGTH = 1_000;

/** A position in a list: after an id, after a price and an id, or after a number of search results. */
const position = z.strictObject({
  sort: z.enum(LISTING_SORTS),
  id: z.string().max(64).optional(),
  price: z
    .string()
    .regex(/^\d{1,30}(\.\d{1,18})?$/)
    .optional(),
  offset: z.int().min(1).max(10_000).optional(),
});
export type ListingPosition = z.output<typeof position>;

/** API description of the price filters. */
export const USD_BOUND = "In US dollars. Ether is converted with the price feed; POL has no feed and never matches";

/** Above the most expensive listing, in dollars. */
const MAX_USD_BOUND = 1e15;

/** Query of GET /api/v1/services. */
export const listListingsQuery = z
  .strictObject({
    q: textSchema({ kind: "query", max: QUERY_MAX_LENGTH }).optional().meta({ description: "Semantic search query" }),
    category: categorySchema.optional(),
    network: networkSchema.optional(),
    sellerId: z.string().min(1).max(64).optional(),
    status: z
      .enum(SERVICE_STATUSES)
      .optional()
      .meta({ description: "`active` by default; `paused` and `archived` list the caller's own services" }),
    currency: currency.optional(),
    deliveryType: z.enum(DELIVERY_TYPES).optional(),
    minPrice: queryNumber({ min: 0, max: MAX_USD_BOUND, description: USD_BOUND }).optional(),
    maxPrice: queryNumber({ min: 0, max: MAX_USD_BOUND, description: USD_BOUND }).optional(),
    minTrustScore: queryNumber({ min: 0, max: 1, description: "Minimum discoveryScore of the seller" }).optional(),
    sort: z
      .enum(LISTING_SORTS)
      .optional()
      .meta({ description: "Always `relevance` with `q`; without it, `newest` by default and never `relevance`" }),
    explain: z.enum(["true", "false"]).optional().meta({
      description: "With `q`: `true` adds to each service how it came to its place",
    }),
    limit: pageLimit,
    cursor: pageCursor(position).optional(),
  })
  .superRefine((query, context) => {
    const fault = (path: string, message: string) => {
      context.addIssue({ code: "custom", path: [path], message });
    };
    const { q, status, minPrice, maxPrice, cursor } = query;
    const sort = sortOf(query);
    if (q === undefined && query.sort === "relevance") fault("sort", "relevance requires q");
    if (q === undefined && query.explain !== undefined) fault("explain", "requires q");
    if (q !== undefined && query.sort !== undefined && sort !== "relevance")
      fault("sort", "a search can only be sorted by relevance");
    if (q !== undefined && status !== undefined && status !== "active")
      fault("status", "a search finds only active services");
    if (minPrice !== undefined && maxPrice !== undefined && minPrice > maxPrice)
      fault("minPrice", "is greater than maxPrice");
    if (cursor !== undefined && cursor.sort !== sort) fault("cursor", "belongs to a list with another sort order");
  });

/** The sort order of a list. */
export function sortOf(query: { q?: string | undefined; sort?: ListingSort | undefined }): ListingSort {
  return query.sort ?? (query.q === undefined ? "newest" : "relevance");
}
