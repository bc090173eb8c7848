import type { IncomingHttpHeaders } from "node:http";

import { z } from "zod";

import { defineRoute } from "../../../http/define-route.ts";
import { answerText, plainText } from "../../../http/prepared-text.ts";
import { pageLimit, queryInteger } from "../../../http/query-params.ts";
import type { Bazaar } from "./bazaar.ts";

/** Dependencies of the routes. */
export interface BazaarDocuments {
  bazaar: Bazaar;
}

const MAX_OFFSET = 10_000;
const MAX_TYPE_LENGTH = 20;

const shared = {
  method: "GET",
  tag: "Payments",
  audience: "crawlers",
  auth: "none",
  limitClass: "unlimited",
  budget: "none",
  // Catalogues read these names, and no envelope.
  responses: { 200: z.looseObject({ x402Version: z.literal(2) }), 304: z.undefined() },
} as const;

const listResources = defineRoute({
  name: "packs.listResources",
  scope: "none",
  ...shared,
  path: "/discovery/resources",
  summary: "What can be paid for by x402, as the bazaar lists it",
  query: z.strictObject({
    type: z.string().max(MAX_TYPE_LENGTH).optional(),
    limit: pageLimit,
    offset: queryInteger({ min: 0, max: MAX_OFFSET }).default(0),
  }),
}).handle(({ query: { type, limit, offset }, headers }, { bazaar }: BazaarDocuments) =>
  answerJson(bazaar.list({ type, limit, offset }), headers),
);

const describePayments = defineRoute({
  name: "packs.describePayments",
  scope: "none",
  ...shared,
  path: "/.well-known/x402.json",
  summary: "The paid classes of calls (a draft)",
}).handle(({ headers }, { bazaar }: BazaarDocuments) => answerJson(bazaar.describe(), headers));

function answerJson(body: object, headers: IncomingHttpHeaders) {
  return answerText(plainText(JSON.stringify(body)), headers, {
    type: "application/json; charset=utf-8",
    cacheControl: "public, max-age=300",
  });
}

export const bazaarRoutes = [listResources, describePayments];
