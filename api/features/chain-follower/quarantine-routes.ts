import { z } from "zod";

import { NETWORKS } from "../../config/constants.ts";
import { dataOf, listOf, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import type { QuarantineRecord } from "./model.ts";
import type { QuarantineControl } from "./quarantine-control.ts";
import { AT_ONCE } from "./quarantine.ts";

/** Dependencies of the quarantine's routes. */
export interface QuarantineDeps {
  quarantine: Pick<QuarantineControl, "page" | "retryNow">;
}

const ID_MAX_LENGTH = 100;
const id = z.string().min(1).max(ID_MAX_LENGTH);

const asAdmin = { scope: "none", tag: "Admin", auth: "admin", limitClass: "keyless", budget: "none" } as const;

const quarantinedOutput = z
  .object({
    id: z.string(),
    network: z.enum(NETWORKS),
    escrowId: z.string(),
    error: z.object({ name: z.string(), message: z.string() }).meta({ description: "Of the last attempt" }),
    attempts: z.number().int(),
    at: timestampOutput,
    retryAt: timestampOutput
      .meta({ description: "When a worker tries again; null as soon as one gets to it" })
      .nullable(),
  })
  .meta({ id: "QuarantinedEscrow" });

function present({
  _id,
  network,
  escrowId,
  error: { name, message },
  attempts,
  createdAt,
  retryAt,
}: QuarantineRecord): z.input<typeof quarantinedOutput> {
  const isDue = retryAt.getTime() === AT_ONCE.getTime();
  return {
    id: _id,
    network,
    escrowId,
    error: { name, message },
    attempts,
    at: createdAt.toISOString(),
    retryAt: isDue ? null : retryAt.toISOString(),
  };
}

const listQuarantined = defineRoute({
  name: "quarantine.list",
  ...asAdmin,
  method: "GET",
  path: "/api/v1/admin/quarantine",
  summary: "Lists the escrows whose moves couldn't be applied, by id",
  description: "Only with `ADMIN_API_KEY`.",
  query: z.strictObject({ cursor: pageCursor(z.strictObject({ after: id })).optional(), limit: pageLimit }),
  responses: { 200: listOf(quarantinedOutput) },
}).handle(async ({ query: { cursor, limit } }, { quarantine }: QuarantineDeps) => {
  const { records, next } = await quarantine.page({ after: cursor?.after, limit });
  const nextCursor = next === null ? null : encodeCursor({ after: next });
  return { status: 200, body: { success: true, data: records.map(present), nextCursor } };
});

const retryQuarantined = defineRoute({
  name: "quarantine.retry",
  ...asAdmin,
  method: "POST",
  path: "/api/v1/admin/quarantine/{id}",
  summary: "Has a worker apply the moves of a quarantined escrow now",
  description: "The answer is from before the attempt. Only with `ADMIN_API_KEY`.",
  params: z.strictObject({ id }),
  responses: { 202: dataOf(quarantinedOutput) },
  errors: ["not_found"],
}).handle(async ({ params }, { quarantine }: QuarantineDeps) => {
  const record = await quarantine.retryNow(params.id);
  if (record === null) throw new ApiError("not_found", { details: { id: params.id } });
  return { status: 202, body: { success: true, data: present(record) } };
});

export const quarantineRoutes = [listQuarantined, retryQuarantined];
