import { z } from "zod";

import { dataOf, listOf } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor } from "../../http/query-params.ts";
import type { ListingPage, ListingQuery } from "./list.ts";
import type { Caller } from "../../http/define-route.ts";
import type { Listing } from "./listing.ts";
import { presentListing } from "./presenter.ts";
import { presentExplanation } from "./reasons.ts";
import { createListingBody, listedOutput, listingOutput, listListingsQuery, patchListingBody } from "./schemas.ts";
import type { ListingService } from "./service.ts";
import { listingWarning } from "./warnings.ts";
import type { ListingWarnings } from "./warnings.ts";

/** Dependencies of the service routes. */
export interface ServicesDeps {
  services: ListingService;
  warningsOf: ListingWarnings;
  listServices: (caller: Caller, query: ListingQuery) => Promise<ListingPage>;
}

const shared = { tag: "Services", auth: "apiKey", limitClass: "general", budget: "api" } as const;
const serviceParams = z.strictObject({ id: z.string().min(1).max(64) });

/** A written listing with its warnings. */
const writtenAnswer = dataOf(listingOutput)
  .extend({
    warnings: z.array(listingWarning).meta({
      description: "Why nobody, or only buyers with a callbackUrl, can buy the service as it is; usually empty",
    }),
  })
  .meta({ id: "WrittenServiceAnswer" });

async function written(listing: Listing, caller: Caller, warningsOf: ListingWarnings) {
  const data = presentListing(listing, caller.agentId);
  return { success: true as const, data, warnings: await warningsOf(listing) };
}

const createService = defineRoute({
  name: "listings.create",
  scope: "sell",
  ...shared,
  method: "POST",
  path: "/api/v1/services",
  summary: "Lists a service",
  description:
    "The listing is active at once. Search finds it within 60 seconds. A service that nobody can buy is listed all the " +
    "same: `warnings` says so. The listing, and the name and description of its seller, become public.",
  body: createListingBody,
  responses: { 201: writtenAnswer },
  errors: ["intent_conflict"],
}).handle(async ({ body, caller, operation }, { services, warningsOf }: ServicesDeps) => ({
  status: 201,
  body: await written(await services.create(caller, body, operation), caller, warningsOf),
}));

const listServices = defineRoute({
  name: "listings.list",
  scope: "read",
  ...shared,
  method: "GET",
  path: "/api/v1/services",
  summary: "Lists services, or searches them with `q`",
  description:
    "With `minTrustScore` a page may be short or empty even if there are more: follow `nextCursor` until it is null.",
  withParameter: { name: "q", limitClass: "search", budget: "search" },
  query: listListingsQuery,
  responses: { 200: listOf(listedOutput) },
  errors: ["search_unavailable", "chain_unavailable", "price_feed_unavailable"],
}).handle(async ({ query, caller }, deps: ServicesDeps) => {
  const { listings, explanations, next } = await deps.listServices(caller, query);
  return {
    status: 200,
    body: {
      success: true,
      data: listings.map((listing) => {
        const explanation = query.explain === "true" ? explanations?.get(listing.id) : undefined;
        const shown = explanation === undefined ? {} : { explanation: presentExplanation(explanation) };
        return { ...presentListing(listing, caller.agentId), ...shown };
      }),
      nextCursor: next === null ? null : encodeCursor(next),
    },
  };
});

const readService = defineRoute({
  name: "listings.read",
  scope: "read",
  ...shared,
  method: "GET",
  path: "/api/v1/services/{id}",
  summary: "Reads a service of any status",
  params: serviceParams,
  responses: { 200: dataOf(listingOutput) },
  errors: ["not_found"],
}).handle(async ({ params, caller }, { services }: ServicesDeps) => ({
  status: 200,
  body: { success: true, data: presentListing(await services.read(caller, params.id), caller.agentId) },
}));

const changeService = defineRoute({
  name: "listings.update",
  scope: "sell",
  ...shared,
  method: "PATCH",
  path: "/api/v1/services/{id}",
  summary: "Changes a service of the caller",
  description:
    "`status` can be `active` or `paused`; DELETE archives a service. An archived service can't be changed. `warnings` is as for a new one.",
  params: serviceParams,
  body: patchListingBody,
  responses: { 200: writtenAnswer },
  errors: ["not_found", "wrong_role", "service_archived", "service_unavailable"],
}).handle(async ({ params, body, caller }, { services, warningsOf }: ServicesDeps) => ({
  status: 200,
  body: await written(await services.change(caller, params.id, body), caller, warningsOf),
}));

const archiveService = defineRoute({
  name: "listings.archive",
  scope: "sell",
  ...shared,
  method: "DELETE",
  path: "/api/v1/services/{id}",
  summary: "Archives a service of the caller permanently",
  params: serviceParams,
  responses: { 200: dataOf(listingOutput) },
  errors: ["not_found", "wrong_role", "service_archived", "service_unavailable"],
}).handle(async ({ params, caller, operation }, { services }: ServicesDeps) => ({
  status: 200,
  body: { success: true, data: presentListing(await services.archive(caller, params.id, operation), caller.agentId) },
}));

export const serviceRoutes = [createService, listServices, readService, changeService, archiveService];
