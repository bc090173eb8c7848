import type { TradingHistory } from "../agents/score.ts";
import { discoveryScoreOf, rankingTrustOf } from "../agents/score.ts";
import type { Listing } from "../listings/listing.ts";

/** A listing that answers a query, with its seller's history. */
export interface RatedMatch {
  listing: Listing;
  /** How well its text answers the query, 0 to 1. */
  relevance: number;
  history: TradingHistory;
}

/** Answers whose relevance is below this share of the best one's are dropped. */
const LEAST_SHARE_OF_BEST = 0.6;
/** How much a fully trusted seller gains over an unknown one, as a share of the relevance. */
const TRUST_WEIGHT = 0.3;

/**
 * Ranks by relevance, raised by the trust in the seller, best first (decision 23). Among equals the higher
 * discoveryScore comes first, then the newer listing.
 */
export function rank(matches: readonly RatedMatch[]): RatedMatch[] {
  const best = bestOf(matches);
  return matches
    .filter(({ relevance }) => relevance >= best * LEAST_SHARE_OF_BEST)
    .map((match) => ({ match, worth: worthOf(match) }))
    .sort((left, right) => right.worth - left.worth || tieBreak(left.match, right.match))
    .map(({ match }) => match);
}

/**
 * Whether listings beyond the search's limit can no longer change the first `wanted` of a ranking.
 * @param unseenRelevance upper bound for the relevance of those listings
 */
export function isSettled(ranked: readonly RatedMatch[], wanted: number, unseenRelevance: number): boolean {
  if (unseenRelevance < bestOf(ranked) * LEAST_SHARE_OF_BEST) return true;
  const last = ranked[wanted - 1];
  return last !== undefined && worthOf(last) > unseenRelevance * (1 + TRUST_WEIGHT);
}

function worthOf({ relevance, history }: RatedMatch): number {
  return relevance * (1 + TRUST_WEIGHT * rankingTrustOf(history));
}

function bestOf(matches: readonly RatedMatch[]): number {
  return matches.reduce((best, { relevance }) => Math.max(best, relevance), 0);
}

function tieBreak(left: RatedMatch, right: RatedMatch): number {
  const byScore = discoveryScoreOf(right.history.score) - discoveryScoreOf(left.history.score);
  if (byScore !== 0) return byScore;
  return right.listing.id < left.listing.id ? -1 : 1;
}
