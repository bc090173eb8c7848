import type { DisputeOutcome } from "../../../indexer/schemas.ts";
import type { Handover, VotedAnswer } from "./case.ts";

/** A question that the facts leave to a judge. */
export interface Question {
  /** A check of the buyer's, the buyer's schema, or whether the result is what was agreed at all. */
  about: "check" | "schema" | "agreement";
  text: string;
}

export const SCHEMA_QUESTION: Question = {
  about: "schema",
  text: "Does the result match the JSON Schema of the criteria?",
};
export const AGREEMENT_QUESTION: Question = {
  about: "agreement",
  text: "Is the result what title, description and request ask for?",
};

/** Why a result that meets everything isn't paid in full. */
export const LATE_REASON =
  "The payload counts as late. The facts conflict: the result is right, but late. The outcome is Split.";

/** The outcome for a result that meets all that was agreed. */
export function outcomeIfMet(handover: Handover): DisputeOutcome {
  return handover === "late" ? "Split" : "SellerPaid";
}

/** The outcome that follows from the answers: code decides it, and no judge. */
export function decideOutcome(answers: readonly Pick<VotedAnswer, "answer">[], handover: Handover): DisputeOutcome {
  if (answers.some(({ answer }) => answer === "not_met")) return "BuyerRefund";
  if (answers.every(({ answer }) => answer === "met")) return outcomeIfMet(handover);
  return "Split";
}
