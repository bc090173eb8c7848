import type { TradingHistory } from "../agents/score.ts";
import {
  counterpartyWeightOf,
  discoveryScoreOf,
  earlyDeclineWeightOf,
  lateDeclineWeightOf,
  rankingTrustOf,
} from "../agents/score.ts";
import type { ExplanationParts } from "../listings/explanation.ts";
import type { Listing } from "../listings/listing.ts";
import { listingTextOf } from "./listing-text.ts";
import type { Match } from "../../search/engine/match.ts";
import { qualityOf, trustFactorOf } from "./merit.ts";
import { computeVariety } from "./variety.ts";

/** A listing that answers a query, with what the ranking knows beside its text. */
export interface RatedMatch extends Omit<Match<Listing>, "document"> {
  listing: Listing;
  history: TradingHistory;
  /** How well the text belongs in its category, at most 1. */
  categoryFit: number;
  /** The price as a share of the buyer's maximum, 0 to 1; undefined if there is none. */
  priceShare: number | undefined;
}

/** A listing in its place, with the parts of its score. */
export interface RankedMatch extends RatedMatch {
  explanation: ExplanationParts;
}

/**
 * Answers whose relevance is below this share of the best one's are dropped. A listing that repeats the query word for word has
 * a relevance of 1, and must not hide the others: the real answers to most queries have 0.4 to 0.7.
 */
const LEAST_SHARE_OF_BEST = 0.4;
/** How much a listing that costs nothing would gain over one at the buyer's maximum. It decides between equals. */
const PRICE_WEIGHT = 0.05;
/** The factor of a listing that costs nothing. */
export const PRICE_GAIN = 1 + PRICE_WEIGHT;

/**
 * Ranks by score, best first (docs/api/discovery.md). Among equals the higher discoveryScore comes first, then the newer listing.
 */
export function rank(matches: readonly RatedMatch[]): RankedMatch[] {
  const least = leastRelevance(matches);
  const scored = matches.filter(({ relevance }) => relevance >= least).map((match) => withScore(match, 1));
  const variety = computeVariety(scored.sort(byScore));
  if (variety.size === 0) return scored;
  return scored
    .map((match) => {
      const factor = variety.get(match);
      return factor === undefined ? match : withScore(match, factor);
    })
    .sort(byScore);
}

/** Bounds of the listings that a search hasn't returned. */
export interface Unseen {
  /** Upper bound for their relevance. */
  relevance: number;
  /** Whether the buyer has named a maximum price. */
  hasBudget: boolean;
}

/**
 * The least merit (merit.ts) that an unseen listing needs to be among the first `wanted` of a ranking, or to outdo one of them: 0
 * if any will do, and more than any listing has if nothing unseen can.
 */
export function meritToWin(ranked: readonly RankedMatch[], wanted: number, { relevance, hasBudget }: Unseen): number {
  if (relevance < leastRelevance(ranked)) return Infinity;
  return scoreToWin(ranked, wanted) / (relevance * (hasBudget ? PRICE_GAIN : 1));
}

/** The score of the last of the first `wanted` of a ranking: 0 if it has fewer. */
export function scoreToWin(ranked: readonly RankedMatch[], wanted: number): number {
  return ranked[wanted - 1]?.explanation.score ?? 0;
}

/** A listing with the parts of its score. @param variety see `computeVariety` */
export function withScore(match: RatedMatch, variety: number): RankedMatch {
  const { listing, relevance, parts, history, categoryFit, priceShare = 1 } = match;
  const { completeness, prose } = listingTextOf(listing);
  const trust = trustFactorOf(rankingTrustOf(history));
  const priceFit = 1 + PRICE_WEIGHT * (1 - priceShare);
  const explanation = {
    score: relevance * qualityOf(listing, categoryFit) * trust * priceFit * variety,
    relevance,
    meaning: Math.min(1, parts.meaning),
    words: parts.words,
    completeness,
    prose,
    categoryFit,
    trust,
    counterpartyWeight: counterpartyWeightOf(history),
    lateDeclineWeight: lateDeclineWeightOf(history),
    earlyDeclineWeight: earlyDeclineWeightOf(history),
    priceFit,
    variety,
  };
  return { ...match, explanation };
}

/** The relevance that a listing needs beside these, not to be dropped. */
export function leastRelevance(matches: readonly { relevance: number }[]): number {
  return matches.reduce((best, { relevance }) => Math.max(best, relevance), 0) * LEAST_SHARE_OF_BEST;
}

function byScore(left: RankedMatch, right: RankedMatch): number {
  return right.explanation.score - left.explanation.score || tieBreak(left, right);
}

function tieBreak(left: RatedMatch, right: RatedMatch): number {
  const byTrust = discoveryScoreOf(right.history.score) - discoveryScoreOf(left.history.score);
  if (byTrust !== 0) return byTrust;
  return right.listing.id < left.listing.id ? -1 : 1;
}
