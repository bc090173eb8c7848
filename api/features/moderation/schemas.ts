import { z } from "zod";

import { timestampOutput } from "../../http/common-schemas.ts";
import { textSchema } from "../../http/text-schema.ts";
import { MODERATION_REASONS } from "../agents/moderation.ts";
import { DECISION_REASONS, MODERATION_ACTIONS, RESTORE_REASONS, SUBJECT_TYPES } from "./model.ts";
import type { DecisionRecord } from "./model.ts";

const TEXT_MAX_LENGTH = 1_000;
const ID_MAX_LENGTH = 64;

const subjectSchema = z.strictObject({ type: z.enum(SUBJECT_TYPES), id: z.string().min(1).max(ID_MAX_LENGTH) });

/** Body of POST /api/v1/admin/moderation. */
export const decisionBody = z
  .strictObject({
    subject: subjectSchema,
    action: z.enum(MODERATION_ACTIONS),
    reason: z.enum(DECISION_REASONS),
    text: textSchema({ kind: "longText", max: TEXT_MAX_LENGTH }).meta({
      description: "For the agent that it concerns",
    }),
  })
  .superRefine(({ subject: { type }, action, reason }, context) => {
    const fault = (path: string, message: string) => {
      context.addIssue({ code: "custom", path: [path], message });
    };
    if (action !== "restore" && (action === "hide") !== (type === "listing")) {
      fault("action", "A listing is hidden, an agent suspended");
    }
    const reasons: readonly string[] = action === "restore" ? RESTORE_REASONS : MODERATION_REASONS;
    if (!reasons.includes(reason)) fault("reason", `To ${action}, must be one of ${reasons.join(", ")}`);
  })
  .meta({ id: "ModerationRequest" });

/** A decision in answers. */
export const decisionOutput = z
  .object({
    id: z.string(),
    action: z.enum(MODERATION_ACTIONS),
    subject: z.object({ type: z.enum(SUBJECT_TYPES), id: z.string() }),
    agentId: z.string(),
    reason: z.enum(DECISION_REASONS),
    text: z.string(),
    ends: z.string().nullable().meta({ description: "The decision that a restoration ends" }),
    by: z.literal("operator"),
    requestId: z.string(),
    at: timestampOutput,
  })
  .meta({ id: "ModerationDecision" });

/** Presents a decision. */
export function presentDecision(decision: DecisionRecord): z.input<typeof decisionOutput> {
  const { _id: id, subjectType: type, subjectId, at, ...rest } = decision;
  return { ...rest, id, subject: { type, id: subjectId }, at: at.toISOString() };
}
