import type { Connection, Model } from "mongoose";

import { collection, date, nullable, oneOf, optional, text } from "../../db/records.ts";
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

/** What an agent can report. */
export const REPORTED_TYPES = ["listing", "agent", "message"] as const;
/** What becomes of a report: nothing was wrong, or the operator did something about it. */
export const REPORT_OUTCOMES = ["dismissed", "acted"] as const;
export const REPORT_STATES = ["open", ...REPORT_OUTCOMES] as const;

/** A report of an agent to the operator. An open one is never deleted. */
const reportFields = {
  /** `rpt_…`; ids sort by time. */
  _id: text,
  reporterId: text,
  subjectType: oneOf(REPORTED_TYPES),
  subjectId: text,
  /** The agent that it is about: the subject, the listing's seller, or the message's sender. */
  agentId: text,
  reason: oneOf(MODERATION_REASONS),
  /** The reporter's words. */
  text: nullable(text),
  /** The beginning of a reported message's body as JSON text; null for an encrypted one. */
  excerpt: nullable(text),
  state: oneOf(REPORT_STATES),
  /** Duplicates state and id for indexes (`placeOf`). */
  place: text,
  /** The operator's, for itself. */
  note: nullable(text),
  at: date,
  closedAt: nullable(date),
  /** MongoDB deletes a closed report after that. */
  deleteAt: optional(date),
};
export type ReportRecord = RecordOf<typeof reportFields>;
export type ReportModel = Model<ReportRecord>;

/** What becomes of an appeal. A restoration grants it. */
export const APPEAL_STATES = ["open", "rejected", "granted"] as const;

/** An agent's word against a decision. It is never deleted. */
const appealFields = {
  /** Id of the decision, which has one appeal. */
  _id: text,
  /** The agent that the decision concerns. */
  agentId: text,
  subjectId: text,
  /** The agent's words. */
  text,
  state: oneOf(APPEAL_STATES),
  /** Duplicates state and id for indexes (`placeOf`). */
  place: text,
  /** The operator's words to the agent. */
  answer: nullable(text),
  at: date,
  answeredAt: nullable(date),
};
export type AppealRecord = RecordOf<typeof appealFields>;
export type AppealModel = Model<AppealRecord>;

/** A decision about an agent, with what came of it. */
export interface DecisionCase {
  decision: DecisionRecord;
  /** The decision that has ended it. */
  restoration: DecisionRecord | undefined;
  appeal: AppealRecord | undefined;
}

/** Indexes of lists. */
export const BY_AGENT = { agentId: 1, _id: -1 } as const;
export const BY_PLACE = { place: -1 } as const;
export const BY_SUBJECT = { subjectId: 1, place: -1 } as const;

/** The collections of moderation. An agent has one open report of a subject. */
export function moderationModels(connection: Connection) {
  const decisions: DecisionModel = collection(
    connection,
    "ModerationDecision",
    "moderation_decisions",
    decisionFields,
    [[{ subjectId: 1, _id: -1 }], [BY_AGENT], [{ ends: 1 }]],
  );
  const reports: ReportModel = collection(connection, "ModerationReport", "moderation_reports", reportFields, [
    [
      { reporterId: 1, subjectId: 1 },
      { unique: true, partialFilterExpression: { state: "open" } },
    ],
    [BY_PLACE],
    [BY_SUBJECT],
    [{ deleteAt: 1 }, { expireAfterSeconds: 0 }],
  ]);
  const appeals: AppealModel = collection(connection, "ModerationAppeal", "moderation_appeals", appealFields, [
    [BY_PLACE],
  ]);
  return { decisions, reports, appeals };
}
