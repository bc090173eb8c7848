import { z } from "zod";

import { dataOf, networkSchema } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { textSchema } from "../../http/text-schema.ts";
import { explanationOutput } from "../listings/explanation.ts";
import { presentExplanation } from "../listings/reasons.ts";
import { categorySchema, QUERY_MAX_LENGTH, USD_BOUND } from "../listings/schemas.ts";
import { presentPublicListing, publicListing } from "./public-listing.ts";
import type { RankedMatch } from "./ranking.ts";
import type { DiscoverService } from "./service.ts";
import type { Visibility, VisibilityQuery } from "./visibility.ts";

/** Dependencies of the discovery routes. */
export interface DiscoverDeps {
  discovery: Pick<DiscoverService, "discover">;
  readVisibility: (asked: VisibilityQuery) => Promise<Visibility>;
}

/** Maximum and default number of results. A narrower query finds others. */
const MAX_RESULTS = 50;
const RELEVANCE_DIGITS = 4;

const discoverBody = z
  .strictObject({
    query: textSchema({ kind: "query", max: QUERY_MAX_LENGTH }).meta({
      description: "What to find, in English or in fifteen other languages",
    }),
    filters: z
      .strictObject({
        minTrustScore: z
          .number()
          .min(0)
          .max(1)
          .optional()
          .meta({ description: "Minimum discoveryScore of the seller" }),
        maxPrice: z
          .number()
          .min(0)
          .optional()
          .meta({ description: `Maximum price of a unit. ${USD_BOUND}` }),
        category: categorySchema.optional(),
        network: networkSchema.optional(),
      })
      .optional(),
    limit: z.int().min(1).max(MAX_RESULTS).default(MAX_RESULTS).meta({ description: "Maximum number of results" }),
    explain: z.boolean().optional().meta({ description: "Adds to each result how it came to its place" }),
  })
  .meta({
    id: "DiscoverRequest",
    examples: [{ query: "report on the risks of a token", filters: { minTrustScore: 0, maxPrice: 5 }, limit: 10 }],
  });

/** One result. */
export const discoverResult = publicListing
  .extend({
    relevance: z.number().min(0).max(1),
    explanation: explanationOutput.optional().meta({ description: "With `explain`" }),
  })
  .meta({ id: "DiscoverResult" });

const discover = defineRoute({
  name: "listings.discover",
  scope: "read",
  method: "POST",
  path: "/api/v1/discover",
  tag: "Discovery",
  summary: "Finds active services by meaning, best first",
  description:
    "Free of charge. Filters apply before the ranking. A result's score is its relevance, raised by the seller's trust and lowered for " +
    "vague, stuffed, misfiled and repeated texts; `explain` adds the parts. " +
    "An empty array means no match. No key is needed; with one, the call counts towards the caller's budget.",
  auth: "optionalApiKey",
  limitClass: "discover",
  budget: "search",
  readsOnly: true,
  body: discoverBody,
  responses: { 200: z.array(discoverResult) },
  errors: ["search_unavailable", "chain_unavailable", "price_feed_unavailable", "service_unavailable"],
}).handle(async ({ body: { query, filters = {}, limit, explain = false } }, { discovery }: DiscoverDeps) => {
  const matches = await discovery.discover(query, filters, limit);
  return {
    status: 200,
    body: matches.map((match) => ({
      ...present(match),
      ...(explain ? { explanation: presentExplanation(match.explanation) } : {}),
    })),
  };
});

function present({ listing, relevance, history }: RankedMatch): z.input<typeof discoverResult> {
  return { ...presentPublicListing(listing, history.score), relevance: Number(relevance.toFixed(RELEVANCE_DIGITS)) };
}

const visibilityBody = z
  .strictObject({ query: textSchema({ kind: "query", max: QUERY_MAX_LENGTH }) })
  .meta({ id: "VisibilityRequest", examples: [{ query: "report on the risks of a token" }] });

const visibilityOutput = z
  .object({
    found: z.boolean().meta({ description: `Whether discover returns it, among at most ${MAX_RESULTS} results` }),
    rank: z.int().min(1).max(MAX_RESULTS).nullable().meta({ description: "Its place among them; null if not found" }),
    of: z.int().min(0).max(MAX_RESULTS).meta({ description: "Number of results" }),
    parts: explanationOutput,
    advice: z.array(z.string()).meta({ description: "What would help, most important first" }),
  })
  .meta({ id: "Visibility" });

const checkVisibility = defineRoute({
  name: "listings.checkVisibility",
  scope: "sell",
  method: "POST",
  path: "/api/v1/services/{id}/visibility",
  tag: "Discovery",
  summary: "Says how discover finds a service of the caller, and what would help",
  description:
    "Discover is asked the query without filters. The parts are also there if the service isn't found. " +
    "The answer says nothing about other services.",
  auth: "apiKey",
  limitClass: "search",
  budget: "search",
  readsOnly: true,
  params: z.strictObject({ id: z.string().min(1).max(64) }),
  body: visibilityBody,
  responses: { 200: dataOf(visibilityOutput) },
  errors: ["not_found", "wrong_role", "listing_hidden", "service_not_active", "search_unavailable"],
}).handle(async ({ caller, params, body: { query } }, { readVisibility }: DiscoverDeps) => {
  const asked = { sellerAgentId: caller.agentId, id: params.id, query, limit: MAX_RESULTS };
  const { parts, ...visibility } = await readVisibility(asked);
  return { status: 200, body: { success: true, data: { ...visibility, parts: presentExplanation(parts) } } };
});

export const discoverRoutes = [discover, checkVisibility];
