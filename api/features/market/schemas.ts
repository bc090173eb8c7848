import { z } from "zod";

import {
  addressOutput,
  dataOf,
  listOf,
  networkSchema,
  timestampOutput,
  tokenUnits,
  usdOutput,
} from "../../http/common-schemas.ts";
import { pageCursor, pageLimit } from "../../http/query-params.ts";
import { MARKET_WINDOWS } from "../analytics/market-model.ts";
import { scoresOutput } from "../agents/registry-routes.ts";
import { publicListing } from "../discovery/public-listing.ts";
import { DISPUTE_OUTCOMES, ESCROW_EVENT_TYPES, RESOLUTION_METHODS, RESOLVED_BY } from "../../indexer/schemas.ts";
import { MOVERS } from "../transactions/moves.ts";
import { STATUS_OF } from "../transactions/snapshot.ts";
import { LEAST_OUTCOMES, MOST_COUNTED } from "./outcomes.ts";

const count = z.int().min(0);

export const figuresQuery = z.strictObject({ window: z.enum(MARKET_WINDOWS).default("7d") });

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

export const dealParams = z.strictObject({
  escrowId: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, "must be an escrow id: 0x and 64 hexadecimal characters")
    .transform((text) => text.toLowerCase() as `0x${string}`),
});
export const dealQuery = z.strictObject({ network: networkSchema.optional() });

const bytes32 = z.string().regex(/^0x[0-9a-fA-F]{64}$/);
const time = timestampOutput.nullable();

const nextMove = z.object({
  move: z.string().meta({ description: "Function of the escrow contract, such as `accept`" }),
  by: z.enum(MOVERS),
  text: z.string(),
  opensAt: time.meta({ description: "First moment at which the chain accepts it; null if it does already" }),
  availableUntil: time.meta({ description: "Last moment; null if it stays open" }),
});

export const dealAnswer = dataOf(
  z
    .object({
      escrowId: bytes32,
      network: networkSchema,
      chainId: z.int(),
      escrowContract: addressOutput,
      status: z.enum(Object.values(STATUS_OF)),
      buyerAddress: addressOutput,
      sellerAddress: addressOutput,
      token: z.object({ symbol: z.string(), address: addressOutput, decimals: z.int() }),
      amount: tokenUnits.meta({ description: "Gross deposit in token units" }),
      platformFee: tokenUnits,
      lockedAmount: tokenUnits,
      valueUsd: usdOutput.meta({ description: "Of the deposit, by the price at its creation" }),
      buyerAmount: tokenUnits.nullable().meta({ description: "Paid out; null until the deal has ended" }),
      sellerAmount: tokenUnits.nullable(),
      criteriaHash: bytes32,
      proofHash: bytes32.nullable(),
      disputeWindow: z.int().meta({ description: "seconds" }),
      abandonmentGrace: z.int().meta({ description: "seconds" }),
      createdAt: timestampOutput,
      deadlineAt: timestampOutput,
      deliveredAt: time,
      disputedAt: time,
      settledAt: time,
      automatic: z.boolean().nullable().meta({ description: "Whether the end of the dispute window released it" }),
      outcome: z.enum(DISPUTE_OUTCOMES).nullable(),
      buyerPercent: z.int().nullable(),
      resolvedBy: z.enum(RESOLVED_BY).nullable(),
      resolutionMethod: z.enum(RESOLUTION_METHODS).nullable(),
      rationaleHash: bytes32.nullable(),
      moves: z.array(
        z.object({ event: z.enum(ESCROW_EVENT_TYPES), at: timestampOutput, txHash: bytes32, blockNumber: count }),
      ),
      next: z.array(nextMove).meta({ description: "What the chain accepts now, or will if nothing else happens" }),
      chainTime: timestampOutput,
      indexedBlock: count.meta({ description: "Subgraph block at which the deal was read" }),
    })
    .meta({ id: "PublicDeal" }),
);

/** How a part of the service is. `late`: it works, but is behind. */
export const PART_STATES = ["ok", "late", "down"] as const;
const partState = z.enum(PART_STATES).meta({ id: "PartState", description: "`late`: it works, and is behind" });

const networkState = z
  .object({
    network: networkSchema,
    state: partState.meta({ description: "The worst of its parts" }),
    chain: partState,
    headBlock: count.nullable(),
    subgraph: partState,
    indexedBlock: count.nullable(),
    follower: partState.meta({ description: "What events, webhooks and lists are made from" }),
    lagSeconds: count.nullable().meta({ description: "From the last block that was applied to the chain's head" }),
    keeper: partState
      .nullable()
      .meta({ description: "Ends deals that nobody else ends; null where this service doesn't" }),
    rulings: partState,
  })
  .meta({ id: "NetworkState" });

/** Hours of the status that are answered, the one under way included. */
export const HISTORY_HOURS = 48;

const minutes = z.object({ ok: count, late: count, down: count }).meta({ id: "StatusMinutes" });

export const statusAnswer = dataOf(
  z
    .object({
      state: partState.meta({ description: "The worst of its parts" }),
      version: z.string(),
      database: partState,
      search: partState,
      queues: partState.meta({ description: "Webhooks and other dispatches" }),
      networks: z.array(networkState),
      history: z
        .array(z.object({ start: timestampOutput, all: minutes, "base-sepolia": minutes, base: minutes }))
        .nullable()
        .meta({
          description: `Minutes by state in the last ${HISTORY_HOURS} hours, the oldest first. A minute that wasn't noted counts in none. Null while the database is down`,
        }),
    })
    .meta({ id: "MarketStatus" }),
);
