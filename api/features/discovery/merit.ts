import { discoveryScoreOf, rankingTrustOf } from "../agents/score.ts";
import type { TradingHistory } from "../agents/score.ts";
import { listingTextOf } from "./listing-text.ts";
import type { TextFields } from "./listing-text.ts";

/** How much a fully trusted seller gains over an unknown one. */
const TRUST_WEIGHT = 0.3;
/**
 * Number of steps in which the index stores trust and score, rounded up. A seller's rows are rewritten only when one of its
 * steps changes, not after each deal.
 */
const STEPS = 20;

/** The factor of a seller's trust, 0 to 1, in the score of a search result. */
export function trustFactorOf(trust: number): number {
  return 1 + TRUST_WEIGHT * trust;
}

/** Quality of a listing's own text, 0 to 1, the same for every query. */
export function qualityOf(listing: TextFields, categoryFit: number): number {
  const { completeness, prose } = listingTextOf(listing);
  return completeness * prose * categoryFit;
}

/** The highest merit that a listing can have. */
export const MOST_MERIT = trustFactorOf(1);

/** A seller's trust and score as the index stores them, in steps. */
export interface SellerSteps {
  /** Of the trust that the ranking has in it. */
  trustStep: number;
  /** Of its discoveryScore. */
  scoreStep: number;
}

/** The steps of a seller with this history. */
export function sellerStepsOf(history: TradingHistory): SellerSteps {
  return { trustStep: stepOf(rankingTrustOf(history)), scoreStep: scoreStepOf(history.score) };
}

/** The step that every seller reaches whose on-chain score is at least this one. */
export function scoreStepOf(onChainScore: number): number {
  return stepOf(discoveryScoreOf(onChainScore));
}

/** The factor by which a step of trust multiplies a quality. */
export function stepFactorOf(trustStep: number): number {
  return trustFactorOf(trustStep / STEPS);
}

/**
 * A listing's quality times its seller's trust: the part of its score that the index can store. Times relevance, it is at least
 * the listing's score without the price factor, because steps round up and variety is at most 1.
 */
export function meritOf(quality: number, { trustStep }: SellerSteps): number {
  return quality * stepFactorOf(trustStep);
}

function stepOf(share: number): number {
  return Math.ceil(share * STEPS);
}
