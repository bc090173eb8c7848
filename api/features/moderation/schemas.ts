import { z } from "zod";

import { timestampOutput } from "../../http/common-schemas.ts";
import { textSchema } from "../../http/text-schema.ts";
import { MODERATION_REASONS } from "../agents/moderation.ts";
import { DECISION_REASONS, MODERATION_ACTIONS, RESTORE_REASONS, SUBJECT_TYPES } from "./model.ts";
import type { DecisionRecord } from "./model.ts";

/** Characters of a text of moderation. */
export const TEXT_MAX_LENGTH = 1_000;
const ID_MAX_LENGTH = 64;

export const idSchema = z.string().min(1).max(ID_MAX_LENGTH);
export const subjectOf = <const Types extends readonly string[]>(types: Types) =>
  z.strictObject({ type: z.enum(types), id: idSchema });
export const wordsSchema = textSchema({ kind: "longText", max: TEXT_MAX_LENGTH }).meta({
  description: "For the agent that it concerns",
});

/** Body of POST /api/v1/admin/moderation. A listing is hidden, an agent suspended, and either restored. */
export const decisionBody = z
  .discriminatedUnion("action", [
    z.strictObject({
      subject: subjectOf(["listing"]),
      action: z.literal("hide"),
      reason: z.enum(MODERATION_REASONS),
      text: wordsSchema,
    }),
    z.strictObject({
      subject: subjectOf(["agent"]),
      action: z.literal("suspend"),
      reason: z.enum(MODERATION_REASONS),
      text: wordsSchema,
    }),
    z.strictObject({
      subject: subjectOf(SUBJECT_TYPES),
      action: z.literal("restore"),
      reason: z.enum(RESTORE_REASONS),
      text: wordsSchema,
    }),
  ])
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
