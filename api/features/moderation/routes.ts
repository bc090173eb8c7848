import { z } from "zod";

import { dataOf, listOf } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import type { Decisions } from "./decisions.ts";
import { decisionBody, decisionOutput, presentDecision } from "./schemas.ts";

/** Dependencies of the moderation routes. */
export interface ModerationDeps {
  decisions: Decisions;
}

/** What the routes of operators have in common. */
export const asAdmin = {
  scope: "none",
  path: "/api/v1/admin/moderation",
  tag: "Admin",
  auth: "admin",
  limitClass: "keyless",
  budget: "none",
} as const;

const decide = defineRoute({
  name: "moderation.decide",
  ...asAdmin,
  method: "POST",
  summary: "Hides a listing, suspends an agent, or restores either",
  description: "Never touches a deal. A repeat answers with the decision that stands. Only with `ADMIN_API_KEY`.",
  body: decisionBody,
  responses: { 200: dataOf(decisionOutput) },
  errors: ["not_found", "not_moderated"],
}).handle(async ({ body, requestId, operation }, { decisions }: ModerationDeps) => {
  const { subject, ...asked } = body;
  const request = { ...asked, subjectType: subject.type, subjectId: subject.id };
  const decision = await decisions.decide(request, requestId, operation);
  return { status: 200, body: { success: true, data: presentDecision(decision) } };
});

const listDecisions = defineRoute({
  name: "moderation.list",
  ...asAdmin,
  method: "GET",
  summary: "Lists the decisions of moderation, newest first",
  description: "Only with `ADMIN_API_KEY`.",
  query: z.strictObject({
    subjectId: z.string().min(1).max(64).optional(),
    cursor: pageCursor(z.strictObject({ after: z.string().max(100) })).optional(),
    limit: pageLimit,
  }),
  responses: { 200: listOf(decisionOutput) },
}).handle(async ({ query: { subjectId, cursor, limit } }, { decisions }: ModerationDeps) => {
  const { records, next } = await decisions.list({ subjectId, after: cursor?.after, limit });
  const nextCursor = next === null ? null : encodeCursor({ after: next });
  return { status: 200, body: { success: true, data: records.map(presentDecision), nextCursor } };
});

export const moderationRoutes = [decide, listDecisions];
