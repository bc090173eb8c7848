import { z } from "zod";

import { date, oneOf, part, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { timestampOutput } from "../../http/common-schemas.ts";

/** What an operator can do to a listing and to an agent (decision 59). */
const MODERATION_STATES = ["hidden", "suspended"] as const;
/** Why, for the agent that it concerns. */
export const MODERATION_REASONS = ["fraud", "illegal", "harmful", "infringement", "spam", "other"] as const;

const fields = {
  /** The decision that is in force, `dec_…`. */
  decisionId: text,
  state: oneOf(MODERATION_STATES),
  reason: oneOf(MODERATION_REASONS),
  /** The operator's words to the agent. */
  text,
  at: date,
};
/** An operator's decision in force, on the record that it concerns. */
export const moderationPart = part(fields);
export type Moderation = RecordOf<typeof fields>;

/** A decision in force, as the agent reads it. */
export const moderationOutput = z
  .object({
    decisionId: z.string(),
    state: z.enum(MODERATION_STATES),
    reason: z.enum(MODERATION_REASONS),
    text: z.string(),
    at: timestampOutput,
  })
  .meta({ id: "Moderation" });

/** Presents a decision in force. */
export function presentModeration({ at, ...decision }: Moderation): z.input<typeof moderationOutput> {
  return { ...decision, at: at.toISOString() };
}
