import { z } from "zod";

import { timestampOutput } from "../../http/common-schemas.ts";
import { MODERATION_REASONS } from "../agents/moderation.ts";
import type { Moderation } from "../agents/moderation.ts";
import { APPEAL_STATES, RESTORE_REASONS, SUBJECT_TYPES } from "./model.ts";
import type { AppealRecord, DecisionCase, DecisionRecord } from "./model.ts";
import { decisionOutput, idSchema, presentDecision, wordsSchema } from "./schemas.ts";

/** Body of POST /api/v1/appeals. */
export const appealBody = z
  .strictObject({ decisionId: idSchema, text: wordsSchema.meta({ description: "For the operator" }) })
  .meta({
    id: "AppealRequest",
    examples: [{ decisionId: "dec_019aa5c0b3f1d2c4a9e07b5f6d812233", text: "The offers differ in their networks." }],
  });

const fields = {
  decisionId: z.string(),
  text: z.string(),
  state: z.enum(APPEAL_STATES),
  answer: z.string().meta({ description: "The operator's words" }).nullable(),
  at: timestampOutput,
  answeredAt: timestampOutput.nullable(),
};

/** An appeal as its agent reads it. */
export const appealOutput = z.object(fields).meta({ id: "Appeal" });

/** An appeal as an operator reads it. */
export const lodgedAppealOutput = z.object({ ...fields, decision: decisionOutput }).meta({ id: "LodgedAppeal" });

/** Body of POST /api/v1/admin/moderation/appeals/{decisionId}. */
export const rejectionBody = z.strictObject({ text: wordsSchema }).meta({ id: "AppealRejection" });

/** A decision as the agent reads it that it concerns. */
export const caseOutput = z
  .object({
    id: z.string(),
    subject: z.object({ type: z.enum(SUBJECT_TYPES), id: z.string() }),
    state: z.enum(["hidden", "suspended", "restored"]),
    reason: z.enum(MODERATION_REASONS),
    text: z.string(),
    at: timestampOutput,
    restored: z.object({ reason: z.enum(RESTORE_REASONS), text: z.string(), at: timestampOutput }).nullable(),
    appeal: appealOutput.nullable(),
  })
  .meta({ id: "Decision" });

/** Presents an appeal to its agent. */
export function presentAppeal({
  _id,
  text,
  state,
  answer,
  at,
  answeredAt,
}: AppealRecord): z.input<typeof appealOutput> {
  return {
    decisionId: _id,
    text,
    state,
    answer,
    at: at.toISOString(),
    answeredAt: answeredAt?.toISOString() ?? null,
  };
}

/** Presents an appeal to an operator. */
export function presentLodgedAppeal(lodged: {
  appeal: AppealRecord;
  decision: DecisionRecord;
}): z.input<typeof lodgedAppealOutput> {
  return { ...presentAppeal(lodged.appeal), decision: presentDecision(lodged.decision) };
}

/** Presents a decision to the agent that it concerns. */
export function presentCase({ decision, restoration, appeal }: DecisionCase): z.input<typeof caseOutput> {
  const { _id: id, action, subjectType: type, subjectId, reason, text, at } = decision;
  const inForce = action === "hide" ? "hidden" : "suspended";
  return {
    id,
    subject: { type, id: subjectId },
    state: restoration === undefined ? inForce : "restored",
    reason: reason as Moderation["reason"],
    text,
    at: at.toISOString(),
    restored:
      restoration === undefined
        ? null
        : {
            reason: restoration.reason as (typeof RESTORE_REASONS)[number],
            text: restoration.text,
            at: restoration.at.toISOString(),
          },
    appeal: appeal === undefined ? null : presentAppeal(appeal),
  };
}
