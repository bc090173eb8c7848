import { z } from "zod";

import { dataOf, listOf } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor } from "../../http/query-params.ts";
import { queueQuery } from "./queue.ts";
import {
  closingBody,
  filedReportOutput,
  presentFiledReport,
  presentReport,
  reportBody,
  reportOutput,
} from "./report-schemas.ts";
import type { Reports } from "./reports.ts";
import { asAdmin } from "./routes.ts";
import { idSchema } from "./schemas.ts";

/** Dependencies of the routes of reports. */
export interface ReportRouteDeps {
  reports: Reports;
}

const fileReport = defineRoute({
  name: "reports.create",
  scope: "message",
  method: "POST",
  path: "/api/v1/reports",
  tag: "Moderation",
  summary: "Reports a listing, an agent, or a received message to the operator",
  description: "Ten an hour, free of charge. While a report is open, another of the same subject answers with it.",
  auth: "apiKey",
  limitClass: "general",
  budget: "none",
  body: reportBody,
  responses: { 201: dataOf(reportOutput) },
  errors: ["not_found", "self_report", "rate_limit_exceeded"],
}).handle(async ({ caller, body, operation }, { reports }: ReportRouteDeps) => {
  const report = await reports.file(caller.agentId, body, operation);
  return { status: 201, body: { success: true, data: presentReport(report) } };
});

const listReports = defineRoute({
  name: "moderation.listReports",
  ...asAdmin,
  method: "GET",
  path: "/api/v1/admin/moderation/reports",
  summary: "Lists the reports of agents, open ones first, then newest first",
  description: "Only with `ADMIN_API_KEY`.",
  query: z.strictObject({ ...queueQuery, subjectId: idSchema.optional() }),
  responses: { 200: listOf(filedReportOutput) },
}).handle(async ({ query }, { reports }: ReportRouteDeps) => {
  const { records, next } = await reports.list(query);
  const nextCursor = next === null ? null : encodeCursor({ after: next });
  return { status: 200, body: { success: true, data: records.map(presentFiledReport), nextCursor } };
});

const closeReport = defineRoute({
  name: "moderation.closeReport",
  ...asAdmin,
  method: "POST",
  path: "/api/v1/admin/moderation/reports/{id}",
  summary: "Closes a report",
  description: "It is deleted 90 days later. Only with `ADMIN_API_KEY`.",
  params: z.strictObject({ id: idSchema }),
  body: closingBody,
  responses: { 200: dataOf(filedReportOutput) },
  errors: ["not_found", "report_not_open"],
}).handle(async ({ params: { id }, body, operation }, { reports }: ReportRouteDeps) => {
  const closed = await reports.close(id, body, operation);
  return { status: 200, body: { success: true, data: presentFiledReport(closed) } };
});

export const reportRoutes = [fileReport, listReports, closeReport];
