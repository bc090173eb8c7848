import type { DisputeOutcome } from "../../../indexer/schemas.ts";
import type { Handover, Vote, VotedAnswer } from "./case.ts";
import { outcomeOf } from "./questions.ts";

/** An answer with less confidence counts as unclear. */
export const LEAST_CONFIDENCE = 0.7;
/** Votes that have to agree. */
export const MAJORITY = 2;

/** The outcome that follows from one vote's answers. */
export function outcomeOfVote(answers: readonly VotedAnswer[], handover: Handover): DisputeOutcome {
  const sure = answers.map(
    ({ answer, confidence }) => ({ answer: confidence < LEAST_CONFIDENCE ? "unclear" : answer }) as const,
  );
  return outcomeOf(sure, handover);
}

/**
 * The outcome of most votes. Votes for opposite sides are a disagreement that no majority settles: a model that one of
 * the orders persuades isn't to be believed.
 */
export function outcomeOfVotes(votes: readonly Pick<Vote, "outcome">[]): { outcome: DisputeOutcome; reason: string } {
  const count = (outcome: DisputeOutcome) => votes.filter((vote) => vote.outcome === outcome).length;
  const tally = `${count("SellerPaid")} of ${votes.length} votes for SellerPaid, ${count("BuyerRefund")} for BuyerRefund, ${count("Split")} for Split`;
  if (count("SellerPaid") > 0 && count("BuyerRefund") > 0) {
    return { outcome: "Split", reason: `The votes contradict each other (${tally}). The outcome is Split.` };
  }
  const winner = (["SellerPaid", "BuyerRefund"] as const).find((outcome) => count(outcome) >= MAJORITY);
  const outcome = winner ?? "Split";
  return { outcome, reason: `The outcome is ${outcome} (${tally}).` };
}
