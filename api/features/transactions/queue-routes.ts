import { z } from "zod";

import { defineRoute } from "../../http/define-route.ts";
import { listOf, networkSchema } from "../../http/common-schemas.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import { presentTransaction } from "./presenter.ts";
import type { TransactionDeps } from "./routes.ts";
import { listPosition, transaction } from "./schemas.ts";

const job = transaction
  .pick({
    id: true,
    transactionId: true,
    serviceId: true,
    serviceTitle: true,
    buyerAgentId: true,
    network: true,
    escrowId: true,
    status: true,
    requestPayload: true,
    quantity: true,
    criteriaHash: true,
    deadline: true,
    deadlineAt: true,
    lockedAmount: true,
    currency: true,
    token: true,
    late: true,
    unsolicited: true,
    createdAt: true,
    indexedBlock: true,
  })
  .meta({ id: "Job" });

/** States in which the seller has open work. Transactions in other states are in the transaction list. */
const JOB_STATUSES = ["funded", "delivered", "disputed"] as const;

const listJobs = defineRoute({
  name: "jobs.list",
  scope: "read",
  method: "GET",
  path: "/api/v1/jobs",
  tag: "Jobs",
  summary: "Lists the caller's jobs as a seller, newest first",
  description: "The queue for a seller to poll. By default it lists funded jobs that wait for delivery.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  query: z.strictObject({
    status: z.enum(JOB_STATUSES).default("funded"),
    network: networkSchema.optional(),
    limit: pageLimit,
    cursor: pageCursor(listPosition).optional(),
  }),
  responses: { 200: listOf(job) },
  errors: ["indexer_unavailable"],
}).handle(async ({ caller, query, signal }, { transactions }: TransactionDeps) => {
  const { cursor, ...filter } = query;
  const asked = { ...filter, role: "seller", withoutResponses: true, after: cursor?.after } as const;
  const { entries, next } = await transactions.list(caller.agentId, asked, signal);
  return {
    status: 200,
    body: {
      success: true,
      data: entries.map(({ record, indexedBlock }) => presentTransaction(record, "seller", indexedBlock)),
      nextCursor: next === null ? null : encodeCursor({ after: next }),
    },
  };
});

export const sellerQueueRoutes = [listJobs];
