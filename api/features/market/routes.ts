import { z } from "zod";

import { CONDITIONAL } from "../../http/cached-answers.ts";
import { defineRoute } from "../../http/define-route.ts";
import { marketAnswer } from "../analytics/market-answer.ts";
import { agentAnswer, agentParams } from "./agent-schemas.ts";
import { disputesAnswer, disputesQuery } from "./dispute-schemas.ts";
import type { PublicMarket } from "./public-market.ts";
import { MOST_OF_SELLER } from "./public-listings.ts";
import { dealAnswer, dealParams, dealQuery, figuresQuery, listingAnswer } from "./schemas.ts";
import { listingParams, listingsAnswer, listingsQuery, statusAnswer } from "./schemas.ts";

/** Dependencies of the public routes. */
export interface PublicMarketDeps {
  publicMarket: PublicMarket;
}

/** What the routes have in common. */
const shared = {
  scope: "none",
  method: "GET",
  tag: "Market",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
  ...CONDITIONAL,
} as const;

const readFigures = defineRoute({
  name: "market.readFigures",
  ...shared,
  path: "/api/v1/market/figures",
  summary: "Volume, prices, times and disputes of the market, for anyone",
  description: "The same as `GET /api/v1/analytics/market`, up to ten seconds old.",
  query: figuresQuery,
  responses: { 200: marketAnswer, 304: z.undefined() },
  errors: ["service_unavailable"],
}).handle(({ query, headers }, { publicMarket }: PublicMarketDeps) => publicMarket.figures(query, headers));

const listListings = defineRoute({
  name: "market.listListings",
  ...shared,
  path: "/api/v1/market/listings",
  summary: "Active services, the newest or the most trusted first, for anyone",
  description:
    "`trusted` lists sellers by the trust that ranks them in a search, each with its newest services, at most " +
    `${MOST_OF_SELLER}. A page of it may be short even if there are more: follow \`nextCursor\` until it is null.`,
  query: listingsQuery,
  responses: { 200: listingsAnswer, 304: z.undefined() },
  errors: ["service_unavailable"],
}).handle(({ query, headers }, { publicMarket }: PublicMarketDeps) => publicMarket.listings(query, headers));

const readListing = defineRoute({
  name: "market.readListing",
  ...shared,
  path: "/api/v1/market/listings/{serviceId}",
  summary: "An active service with its seller and how its deals ended, for anyone",
  params: listingParams,
  responses: { 200: listingAnswer, 304: z.undefined() },
  errors: ["not_found", "service_unavailable"],
}).handle(({ params, headers }, { publicMarket }: PublicMarketDeps) => publicMarket.listing(params.serviceId, headers));

const readAgent = defineRoute({
  name: "market.readAgent",
  ...shared,
  path: "/api/v1/market/agents/{wallet}",
  summary: "What the chains know about a wallet, and what it sells, for anyone",
  description: "Name and description only while it has an active service.",
  params: agentParams,
  responses: { 200: agentAnswer, 304: z.undefined() },
  errors: ["not_found", "indexer_unavailable", "service_unavailable"],
}).handle(({ params, headers }, { publicMarket }: PublicMarketDeps) => publicMarket.agent(params.wallet, headers));

const readDeal = defineRoute({
  name: "market.readDeal",
  ...shared,
  path: "/api/v1/market/deals/{escrowId}",
  summary: "A deal as the chain has it, and what may happen next, for anyone",
  description: "Without `network`, the one that has it; the mainnet's if both have an escrow of this id.",
  params: dealParams,
  query: dealQuery,
  responses: { 200: dealAnswer, 304: z.undefined() },
  errors: ["not_found", "indexer_unavailable", "service_unavailable"],
}).handle(({ params, query, headers }, { publicMarket }: PublicMarketDeps) =>
  publicMarket.deal(params.escrowId, query.network, headers),
);

const listDisputes = defineRoute({
  name: "market.listDisputes",
  ...shared,
  path: "/api/v1/market/disputes",
  summary: "Disputes that have ended, the newest first, and how they end, for anyone",
  query: disputesQuery,
  responses: { 200: disputesAnswer, 304: z.undefined() },
  errors: ["service_unavailable"],
}).handle(({ query, headers }, { publicMarket }: PublicMarketDeps) => publicMarket.disputes(query, headers));

const readStatus = defineRoute({
  name: "market.readStatus",
  ...shared,
  // Like /health: it also answers while the database, which counts calls, is down. Its work doesn't grow with its calls.
  limitClass: "unlimited",
  path: "/api/v1/market/status",
  summary: "How the service and its networks are, in a word for each part, for anyone",
  responses: { 200: statusAnswer, 304: z.undefined() },
}).handle(({ headers }, { publicMarket }: PublicMarketDeps) => publicMarket.status(headers));

export const publicMarketRoutes = [
  readFigures,
  listListings,
  readListing,
  readAgent,
  readDeal,
  listDisputes,
  readStatus,
];
