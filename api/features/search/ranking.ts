import type { TradingHistory } from "../agents/score.ts";
import { discoveryScoreOf, rankingTrustOf } from "../agents/score.ts";
import type { Match } from "./search-index.ts";

/** A match with what is known of its seller. */
export interface RatedMatch extends Match {
  history: TradingHistory;
}

/** Answers that are less than this share as relevant as the best one are left out. */
const LEAST_SHARE_OF_BEST = 0.6;
/** What a seller of full trust gains over an unknown one, as a share of the relevance. */
const TRUST_WEIGHT = 0.3;

/**
 * Best first: relevance, raised by the trust in the seller (decision 23). Between equals the higher discoveryScore comes
 * first, then the newer listing.
 */
export function rank(matches: readonly RatedMatch[]): RatedMatch[] {
  const best = Math.max(0, ...matches.map(({ relevance }) => relevance));
  return matches
    .filter(({ relevance }) => relevance >= best * LEAST_SHARE_OF_BEST)
    .map((match) => ({ match, worth: match.relevance * (1 + TRUST_WEIGHT * rankingTrustOf(match.history)) }))
    .sort((left, right) => right.worth - left.worth || tieBreak(left.match, right.match))
    .map(({ match }) => match);
}

function tieBreak(left: RatedMatch, right: RatedMatch): number {
  const byScore = discoveryScoreOf(right.history.score) - discoveryScoreOf(left.history.score);
  if (byScore !== 0) return byScore;
  return right.listing.id < left.listing.id ? -1 : 1;
}
