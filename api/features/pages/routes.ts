import { z } from "zod";

import { defineRoute } from "../../http/define-route.ts";
import type { RawResult, RouteRequest } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { CATALOG_LINKS } from "../crawlers/api-catalog.ts";
import { BUILD_COMMAND } from "./bundle.ts";
import { assetAnswer, pageAnswer } from "./page-answer.ts";
import type { AskApi, Pages } from "./pages.ts";

/** Dependencies of the routes of web pages. */
export interface PagesDeps {
  pages: Pages;
  /** Answers the requests that a page is made of, in this process. */
  askApi: AskApi;
}

const TEXT_LENGTH = 200;
const QUERY_MAX_LENGTH = 1_000;
/** A person who follows a broken link sees a page, not the error of a schema: the page itself says what it takes. */
const lenient = z.string().max(TEXT_LENGTH).optional().catch(undefined);
const query = z.object({ window: lenient, network: lenient, cursor: lenient });
const id = z.string().min(1).max(TEXT_LENGTH);

const shared = {
  scope: "none",
  method: "GET",
  tag: "Documentation",
  audience: "people",
  auth: "none",
  // A kept page costs next to nothing. A new one counts as a call of the client that asked for it.
  limitClass: "unlimited",
  budget: "none",
} as const;

const pageSpec = {
  ...shared,
  query,
  produces: ["text/html"],
  responses: { 200: z.string(), 304: z.undefined(), 404: z.string() },
  errors: ["pages_not_built", "rate_limit_exceeded"],
} as const;

type PageQuery = Readonly<Record<string, string | undefined>>;
type PageRequest = Pick<RouteRequest<"none", unknown, PageQuery, undefined>, "query" | "headers" | "ip">;

async function answerPage(
  pathname: string,
  { query, headers, ip }: PageRequest,
  { pages, askApi }: PagesDeps,
): Promise<RawResult> {
  const search = new URLSearchParams(
    Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const page = await pages.read(pathname, search.toString(), ip, askApi);
  if (page === undefined) throw new ApiError("pages_not_built", { details: { command: BUILD_COMMAND } });
  return pageAnswer(page, headers);
}

const marketPage = defineRoute({
  ...pageSpec,
  name: "pages.market",
  path: "/",
  summary: "The market as a web page",
}).handle(async (request, deps: PagesDeps) => {
  const answer = await answerPage("/", request, deps);
  return { ...answer, headers: { ...answer.headers, Link: CATALOG_LINKS } };
});

const statusPage = defineRoute({
  ...pageSpec,
  name: "pages.status",
  path: "/status",
  summary: "The state of the service as a web page",
}).handle((request, deps: PagesDeps) => answerPage("/status", request, deps));

const searchPage = defineRoute({
  ...pageSpec,
  name: "pages.search",
  path: "/search",
  query: z.object({
    q: z.string().max(QUERY_MAX_LENGTH).optional().catch(undefined),
    network: lenient,
    category: lenient,
    maxPrice: lenient,
    minScore: lenient,
  }),
  summary: "A search for services as a web page",
}).handle((request, { pages, askApi }: PagesDeps) => {
  // A search counts as one, wherever it is asked for.
  const limitClass = (request.query.q ?? "").trim() === "" ? "keyless" : "discover";
  const ask: AskApi = (requests, ip) => askApi(requests, ip, limitClass);
  return answerPage("/search", request, { pages, askApi: ask });
});

const listingPage = defineRoute({
  ...pageSpec,
  name: "pages.listing",
  path: "/listings/{serviceId}",
  params: z.strictObject({ serviceId: id }),
  summary: "A listing as a web page",
}).handle((request, deps: PagesDeps) =>
  answerPage(`/listings/${encodeURIComponent(request.params.serviceId)}`, request, deps),
);

const agentPage = defineRoute({
  ...pageSpec,
  name: "pages.agent",
  path: "/agents/{wallet}",
  params: z.strictObject({ wallet: id }),
  summary: "An agent as a web page",
}).handle((request, deps: PagesDeps) =>
  answerPage(`/agents/${encodeURIComponent(request.params.wallet)}`, request, deps),
);

const dealPage = defineRoute({
  ...pageSpec,
  name: "pages.deal",
  path: "/deals/{escrowId}",
  params: z.strictObject({ escrowId: id }),
  summary: "A deal as a web page",
}).handle((request, deps: PagesDeps) =>
  answerPage(`/deals/${encodeURIComponent(request.params.escrowId)}`, request, deps),
);

const disputesPage = defineRoute({
  ...pageSpec,
  name: "pages.disputes",
  path: "/disputes",
  summary: "The disputes that have ended as a web page",
}).handle((request, deps: PagesDeps) => answerPage("/disputes", request, deps));

const homePage = defineRoute({
  ...pageSpec,
  name: "pages.home",
  path: "/me",
  summary: "The page of an agent's owner, which signs in and asks for everything in the browser",
}).handle((request, deps: PagesDeps) => answerPage("/me", request, deps));

const ownDealsPage = defineRoute({
  ...pageSpec,
  name: "pages.ownDeals",
  path: "/me/deals",
  summary: "The deals of an agent, for its owner; the filters are read in the browser",
}).handle((request, deps: PagesDeps) => answerPage("/me/deals", request, deps));

const ownDealPage = defineRoute({
  ...pageSpec,
  name: "pages.ownDeal",
  path: "/me/deals/{transactionId}",
  params: z.strictObject({ transactionId: id }),
  summary: "A deal of an agent, for its owner",
}).handle((request, deps: PagesDeps) =>
  answerPage(`/me/deals/${encodeURIComponent(request.params.transactionId)}`, request, deps),
);

const ownKeysPage = defineRoute({
  ...pageSpec,
  name: "pages.ownKeys",
  path: "/me/keys",
  summary: "The keys, mandates and approvals of an agent, for its owner",
}).handle((request, deps: PagesDeps) => answerPage("/me/keys", request, deps));

const ownWebhooksPage = defineRoute({
  ...pageSpec,
  name: "pages.ownWebhooks",
  path: "/me/webhooks",
  summary: "The webhooks of an agent and what they got, for its owner",
}).handle((request, deps: PagesDeps) => answerPage("/me/webhooks", request, deps));

const ownListingsPage = defineRoute({
  ...pageSpec,
  name: "pages.ownListings",
  path: "/me/listings",
  summary: "The listings of an agent, for its owner; the state is read in the browser",
}).handle((request, deps: PagesDeps) => answerPage("/me/listings", request, deps));

const ownListingPage = defineRoute({
  ...pageSpec,
  name: "pages.ownListing",
  path: "/me/listings/{serviceId}",
  params: z.strictObject({ serviceId: id }),
  summary: "A listing of an agent, or the form for a new one, for its owner",
}).handle((request, deps: PagesDeps) =>
  answerPage(`/me/listings/${encodeURIComponent(request.params.serviceId)}`, request, deps),
);

const hirePage = defineRoute({
  ...pageSpec,
  name: "pages.hire",
  path: "/me/hire",
  summary: "The form with which an agent's owner hires; the listing is read in the browser",
}).handle((request, deps: PagesDeps) => answerPage("/me/hire", request, deps));

const operatorPage = defineRoute({
  ...pageSpec,
  name: "pages.operator",
  path: "/operator",
  needsAdminKey: true,
  summary: "The operator's page, which takes the admin key and asks for everything in the browser",
}).handle((request, deps: PagesDeps) => answerPage("/operator", request, deps));

const assetFile = defineRoute({
  ...shared,
  name: "pages.asset",
  path: "/assets/{file}",
  summary: "A script or a style of the web pages",
  produces: ["text/javascript", "text/css", "image/svg+xml", "image/png"],
  params: z.strictObject({ file: id }),
  responses: { 200: z.string() },
  errors: ["not_found"],
}).handle(async ({ params: { file }, headers }, { pages }: PagesDeps) => {
  const asset = await pages.asset(file);
  if (asset === undefined) throw new ApiError("not_found", { details: { file } });
  return assetAnswer(asset, headers);
});

export const pageRoutes = [
  marketPage,
  searchPage,
  statusPage,
  listingPage,
  agentPage,
  dealPage,
  disputesPage,
  homePage,
  ownDealsPage,
  ownDealPage,
  ownKeysPage,
  ownWebhooksPage,
  ownListingsPage,
  ownListingPage,
  hirePage,
  operatorPage,
  assetFile,
];
