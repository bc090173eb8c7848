import type { Connection, Model } from "mongoose";

import { collection, date, nullable, oneOf, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { MODERATION_REASONS } from "../agents/moderation.ts";

/** What an operator decides: a listing is hidden, an agent suspended, and either restored. */
export const MODERATION_ACTIONS = ["hide", "suspend", "restore"] as const;
export type ModerationAction = (typeof MODERATION_ACTIONS)[number];
/** What a decision can be about. */
export const SUBJECT_TYPES = ["listing", "agent"] as const;
/** Why something is restored. */
export const RESTORE_REASONS = ["mistake", "appeal", "remedied"] as const;
/** Every reason of a decision. */
export const DECISION_REASONS = [...MODERATION_REASONS, ...RESTORE_REASONS] as const;

/** A decision of an operator. It never changes and is never deleted. */
const decisionFields = {
  /** Decision id, `dec_…`; ids sort by time. */
  _id: text,
  action: oneOf(MODERATION_ACTIONS),
  subjectType: oneOf(SUBJECT_TYPES),
  subjectId: text,
  /** The agent that it concerns: the subject, or the listing's seller. */
  agentId: text,
  reason: oneOf(DECISION_REASONS),
  /** The operator's words to the agent. */
  text,
  /** The decision that a restoration ends; null for others. */
  ends: nullable(text),
  /** Who decided. There is one admin key, so its holder. */
  by: oneOf(["operator"]),
  /** The request that made it, as in the audit of the admin key. */
  requestId: text,
  at: date,
};
export type DecisionRecord = RecordOf<typeof decisionFields>;
export type DecisionModel = Model<DecisionRecord>;

/** The collection of decisions. */
export function decisionModel(connection: Connection): DecisionModel {
  return collection(connection, "ModerationDecision", "moderation_decisions", decisionFields, [
    [{ subjectId: 1, _id: -1 }],
    [{ agentId: 1, _id: -1 }],
  ]);
}
