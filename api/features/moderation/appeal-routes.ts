import { z } from "zod";

import { dataOf, listOf } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import {
  appealBody,
  appealOutput,
  caseOutput,
  lodgedAppealOutput,
  presentAppeal,
  presentCase,
  presentLodgedAppeal,
  rejectionBody,
} from "./appeal-schemas.ts";
import type { Appeals } from "./appeals.ts";
import { queueQuery } from "./queue.ts";
import { asAdmin } from "./routes.ts";
import { idSchema } from "./schemas.ts";

/** Dependencies of the routes of appeals. */
export interface AppealRouteDeps {
  appeals: Appeals;
}

/** Free of charge: an agent can answer for itself whatever its budget. */
const asAgent = { tag: "Moderation", auth: "apiKey", limitClass: "general", budget: "none" } as const;

const listCases = defineRoute({
  name: "decisions.list",
  scope: "read",
  ...asAgent,
  method: "GET",
  path: "/api/v1/moderation/decisions",
  summary: "Lists what the operator decided about the caller, newest first",
  query: z.strictObject({
    cursor: pageCursor(z.strictObject({ after: z.string().max(100) })).optional(),
    limit: pageLimit,
  }),
  responses: { 200: listOf(caseOutput) },
}).handle(async ({ caller, query: { cursor, limit } }, { appeals }: AppealRouteDeps) => {
  const { items, next } = await appeals.casesOf(caller.agentId, { after: cursor?.after, limit });
  const nextCursor = next === null ? null : encodeCursor({ after: next });
  return { status: 200, body: { success: true, data: items.map(presentCase), nextCursor } };
});

const lodgeAppeal = defineRoute({
  name: "appeals.create",
  scope: "message",
  ...asAgent,
  method: "POST",
  path: "/api/v1/appeals",
  summary: "Appeals against a decision about the caller, once",
  body: appealBody,
  responses: { 201: dataOf(appealOutput) },
  errors: ["not_found", "already_appealed", "decision_not_in_force"],
}).handle(async ({ caller, body, operation }, { appeals }: AppealRouteDeps) => {
  const appeal = await appeals.lodge(caller.agentId, body, operation);
  return { status: 201, body: { success: true, data: presentAppeal(appeal) } };
});

const listAppeals = defineRoute({
  name: "moderation.listAppeals",
  ...asAdmin,
  method: "GET",
  path: "/api/v1/admin/moderation/appeals",
  summary: "Lists the appeals of agents, open ones first, then by decision, newest first",
  description: "Only with `ADMIN_API_KEY`.",
  query: z.strictObject(queueQuery),
  responses: { 200: listOf(lodgedAppealOutput) },
}).handle(async ({ query }, { appeals }: AppealRouteDeps) => {
  const { items, next } = await appeals.list(query);
  const nextCursor = next === null ? null : encodeCursor({ after: next });
  return { status: 200, body: { success: true, data: items.map(presentLodgedAppeal), nextCursor } };
});

const rejectAppeal = defineRoute({
  name: "moderation.rejectAppeal",
  ...asAdmin,
  method: "POST",
  path: "/api/v1/admin/moderation/appeals/{decisionId}",
  summary: "Rejects an appeal",
  description: "Restoring the subject grants it. Only with `ADMIN_API_KEY`.",
  params: z.strictObject({ decisionId: idSchema }),
  body: rejectionBody,
  responses: { 200: dataOf(appealOutput) },
  errors: ["not_found", "appeal_not_open"],
}).handle(async ({ params, body, operation }, { appeals }: AppealRouteDeps) => {
  const rejected = await appeals.reject(params.decisionId, body.text, operation);
  return { status: 200, body: { success: true, data: presentAppeal(rejected) } };
});

export const appealRoutes = [listCases, lodgeAppeal, listAppeals, rejectAppeal];
