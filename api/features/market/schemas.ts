import { z } from "zod";

import { addressOutput, dataOf, listOf } from "../../http/common-schemas.ts";
import { pageCursor, pageLimit } from "../../http/query-params.ts";
import { MARKET_WINDOW_NAMES } from "../analytics/market-answer.ts";
import { scoresOutput } from "../agents/registry-routes.ts";
import { publicListing } from "../discovery/public-listing.ts";
import { LEAST_OUTCOMES, MOST_COUNTED } from "./outcomes.ts";

const count = z.int().min(0);

export const figuresQuery = z.strictObject({ window: z.enum(MARKET_WINDOW_NAMES).default("7d") });

/** Orders of the public list. */
export const PUBLIC_SORTS = ["newest", "trusted"] as const;

/** Position in the list: the last listing of the previous page, and its seller's place among the trusted. */
const listingsPosition = z.discriminatedUnion("sort", [
  z.strictObject({ sort: z.literal("newest"), listing: z.string().max(64) }),
  z.strictObject({
    sort: z.literal("trusted"),
    trust: z.number().min(0).max(1),
    standing: z.string().max(100),
    /** Null if all listings of the seller were listed. */
    listing: z.string().max(64).nullable(),
  }),
]);
export type ListingsPosition = z.output<typeof listingsPosition>;
export type TrustedPosition = Extract<ListingsPosition, { sort: "trusted" }>;

export const listingsQuery = z
  .strictObject({
    sort: z.enum(PUBLIC_SORTS).default("newest"),
    limit: pageLimit,
    cursor: pageCursor(listingsPosition).optional(),
  })
  .superRefine(({ sort, cursor }, context) => {
    if (cursor === undefined || cursor.sort === sort) return;
    context.addIssue({ code: "custom", path: ["cursor"], message: "belongs to a list with another sort order" });
  });
export type ListingsQuery = z.output<typeof listingsQuery>;

export const listingsAnswer = listOf(publicListing);

export const listingParams = z.strictObject({ serviceId: z.string().min(1).max(64) });

const publicSeller = z
  .object({
    agentId: z.string(),
    walletAddress: addressOutput,
    name: z.string(),
    description: z.string().nullable(),
    scores: scoresOutput,
  })
  .meta({ id: "PublicSeller" });

export const listingAnswer = dataOf(
  publicListing
    .and(
      z.object({
        seller: publicSeller,
        outcomes: z
          .object({ released: count, resolved: count, refunded: count, abandoned: count })
          .nullable()
          .meta({
            description:
              `How the listing's deals ended, each counted up to ${MOST_COUNTED}: paid, decided after a dispute, declined by the ` +
              `seller, never delivered. Null until ${LEAST_OUTCOMES} have ended`,
          }),
      }),
    )
    .meta({ id: "ListingDetails" }),
);
