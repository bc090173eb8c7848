import { z } from "zod";

import { timestampOutput } from "../../http/common-schemas.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { textSchema } from "../../http/text-schema.ts";
import { MODERATION_REASONS } from "../agents/moderation.ts";
import { REPORT_OUTCOMES, REPORT_STATES, REPORTED_TYPES } from "./model.ts";
import type { ReportRecord } from "./model.ts";
import { subjectOf, TEXT_MAX_LENGTH } from "./schemas.ts";

const textOfReport = textSchema({ kind: "longText", max: TEXT_MAX_LENGTH });

/** Body of POST /api/v1/reports. */
export const reportBody = z
  .strictObject({
    subject: subjectOf(REPORTED_TYPES),
    reason: z.enum(MODERATION_REASONS),
    text: textOfReport.optional(),
  })
  .meta({
    id: "ReportRequest",
    examples: [
      { subject: { type: "listing", id: EXAMPLE.service }, reason: "spam", text: "The same offer ten times." },
    ],
  });

const fields = {
  id: z.string(),
  subject: z.object({ type: z.enum(REPORTED_TYPES), id: z.string() }),
  reason: z.enum(MODERATION_REASONS),
  text: z.string().nullable(),
  state: z.enum(REPORT_STATES),
  at: timestampOutput,
};

/** A report as its reporter reads it. */
export const reportOutput = z.object(fields).meta({ id: "Report" });

/** A report as an operator reads it. */
export const filedReportOutput = z
  .object({
    ...fields,
    reporterId: z.string(),
    agentId: z.string().meta({ description: "The agent that it is about" }),
    excerpt: z.string().meta({ description: "The beginning of a message's body, as JSON text" }).nullable(),
    note: z.string().nullable(),
    closedAt: timestampOutput.nullable(),
  })
  .meta({ id: "FiledReport" });

/** Body of POST /api/v1/admin/moderation/reports/{id}. */
export const closingBody = z
  .strictObject({
    outcome: z.enum(REPORT_OUTCOMES),
    note: textOfReport.meta({ description: "For operators alone" }),
  })
  .meta({ id: "ReportClosing" });

/** Presents a report to its reporter. */
export function presentReport(report: ReportRecord): z.input<typeof reportOutput> {
  const { _id: id, subjectType: type, subjectId, reason, text, state, at } = report;
  return { id, subject: { type, id: subjectId }, reason, text, state, at: at.toISOString() };
}

/** Presents a report to an operator. */
export function presentFiledReport(report: ReportRecord): z.input<typeof filedReportOutput> {
  const { reporterId, agentId, excerpt, note, closedAt } = report;
  const closed = closedAt?.toISOString() ?? null;
  return { ...presentReport(report), reporterId, agentId, excerpt, note, closedAt: closed };
}
