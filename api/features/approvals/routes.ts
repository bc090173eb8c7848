import { z } from "zod";

import { dataOf, listOf } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import type { Approvals } from "./approvals.ts";
import { approvalOutput, grantBody, presentApproval } from "./schemas.ts";

/** Dependencies of the approval routes. */
export interface ApprovalRouteDeps {
  approvals: Approvals;
}

const common = { tag: "Approvals", auth: "apiKey", limitClass: "general", budget: "api" } as const;
const ID_PATH = "/api/v1/approvals/{id}";
const params = z.strictObject({ id: z.string().min(1).max(100) });

const listApprovals = defineRoute({
  name: "approvals.list",
  scope: "read",
  ...common,
  method: "GET",
  path: "/api/v1/approvals",
  summary: "Lists the agent's approvals, newest first",
  description: "A key with a mandate sees its own. They are kept for seven days after they end.",
  query: z.strictObject({
    cursor: pageCursor(z.strictObject({ after: z.string().max(100) })).optional(),
    limit: pageLimit,
  }),
  responses: { 200: listOf(approvalOutput) },
}).handle(async ({ caller, query: { cursor, limit } }, { approvals }: ApprovalRouteDeps) => {
  const { items, next } = await approvals.list(caller, { after: cursor?.after, limit });
  const nextCursor = next === null ? null : encodeCursor({ after: next });
  return { status: 200, body: { success: true, data: items.map(presentApproval), nextCursor } };
});

const grantApproval = defineRoute({
  name: "approvals.grant",
  scope: "none",
  // The wallet's signature decides, whatever the session may do.
  pageScope: "read",
  ...common,
  method: "POST",
  path: ID_PATH,
  summary: "Grants an approval by the wallet's signature",
  description:
    "EIP-712, [mandates](/guides/mandates#approvals). It lifts the mandate's amounts for one checkout with the same content, up " +
    "to `maxUsd` and until `expiresAt`.",
  params,
  body: grantBody,
  responses: { 200: dataOf(approvalOutput) },
  errors: ["not_found", "approval_not_open", "signature_invalid"],
}).handle(async ({ params: { id }, body, caller, operation }, { approvals }: ApprovalRouteDeps) => {
  const granted = await approvals.grant(caller, id, body, operation.isRepeat);
  return { status: 200, body: { success: true, data: presentApproval(granted) } };
});

const declineApproval = defineRoute({
  name: "approvals.decline",
  scope: "none",
  pageScope: "buy",
  ...common,
  method: "DELETE",
  path: ID_PATH,
  summary: "Declines an approval, or takes it back before it is used",
  description:
    "Until its end, the same checkout is 403 `mandate_exceeded` with the bound `declined`. A repeat changes nothing.",
  params,
  responses: { 200: dataOf(approvalOutput) },
  errors: ["not_found", "approval_not_open"],
}).handle(async ({ params: { id }, caller }, { approvals }: ApprovalRouteDeps) => ({
  status: 200,
  body: { success: true, data: presentApproval(await approvals.decline(caller, id)) },
}));

export const approvalRoutes = [listApprovals, grantApproval, declineApproval];
