import { z } from "zod";

import { SENDING_STATES } from "../../chain/sending/record.ts";
import { NETWORKS } from "../../config/constants.ts";
import { networkSchema, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { pageLimit } from "../../http/query-params.ts";
import { DISPUTE_OUTCOMES, RESOLVED_BY } from "../../indexer/schemas.ts";
import type { OpenDispute, OpenDisputes } from "./open-disputes.ts";

/** Dependencies of the route of open disputes. */
export interface OpenDisputeDeps {
  openDisputes: OpenDisputes;
}

const rulingOutput = z
  .object({
    ruledBy: z.enum(RESOLVED_BY),
    outcome: z.enum(DISPUTE_OUTCOMES),
    state: z.enum(SENDING_STATES),
    problem: z.string().nullable().meta({ description: "What keeps it from the chain (docs/operating/sending.md)" }),
    detail: z.string().nullable().meta({ description: "Facts about the problem" }),
    since: timestampOutput.meta({ description: "When state or problem last changed" }),
  })
  .meta({ id: "WaitingRuling" });

const openDisputeOutput = z
  .object({
    disputeId: z.string(),
    transactionId: z.string(),
    network: z.enum(NETWORKS),
    escrowId: z.string(),
    evidenceEndsAt: timestampOutput.meta({ description: "By the chain's time" }),
    attempts: z.number().int().meta({ description: "Failed attempts to rule" }),
    lastError: z.string().nullable(),
    ruling: rulingOutput.nullable(),
  })
  .meta({ id: "OpenDispute" });

function present({ dispute, ruling }: OpenDispute): z.input<typeof openDisputeOutput> {
  const { _id: disputeId, transactionId, network, escrowId, evidenceEndsAt, attempts, lastError } = dispute;
  return {
    disputeId,
    transactionId,
    network,
    escrowId,
    evidenceEndsAt: evidenceEndsAt.toISOString(),
    attempts,
    lastError,
    ruling:
      ruling === null
        ? null
        : {
            ruledBy: ruling.ruledBy,
            outcome: ruling.outcome,
            state: ruling.state,
            problem: ruling.problem,
            detail: ruling.detail,
            since: ruling.since.toISOString(),
          },
  };
}

const listOpenDisputes = defineRoute({
  name: "disputes.listOpen",
  scope: "none",
  method: "GET",
  path: "/api/v1/admin/disputes",
  tag: "Admin",
  summary: "Lists the open disputes of a network by the end of their evidence periods, the earliest first",
  description: "Overdue disputes and held rulings come first. Only with `ADMIN_API_KEY`.",
  auth: "admin",
  limitClass: "keyless",
  budget: "none",
  query: z.strictObject({ network: networkSchema, limit: pageLimit }),
  responses: {
    200: z.object({ success: z.literal(true), data: z.array(openDisputeOutput) }).meta({ id: "OpenDisputes" }),
  },
}).handle(async ({ query: { network, limit } }, { openDisputes }: OpenDisputeDeps) => {
  const found = await openDisputes.list(network, limit);
  return { status: 200, body: { success: true, data: found.map(present) } };
});

export const openDisputeRoutes = [listOpenDisputes];
